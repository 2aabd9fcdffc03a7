"""What sites ask for: counts of logs become profiles and demand, and how far logs can be
trusted.
"""

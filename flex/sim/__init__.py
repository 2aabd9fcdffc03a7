"""Made-up clusters and their logs, and a simulator of clusters that serve a trace under a routing
policy.
"""

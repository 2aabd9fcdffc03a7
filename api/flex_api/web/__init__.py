"""What every route leans on: who asks, how much they may ask, how lists and single things are
answered.
"""

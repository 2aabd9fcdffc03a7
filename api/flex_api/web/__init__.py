"""What all routes share: who asks, how much they may ask, how lists and single things are
answered.
"""

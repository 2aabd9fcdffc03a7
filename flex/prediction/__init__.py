"""What nodes will have to do: a sample of accesses replayed through caches before anything
moves.
"""

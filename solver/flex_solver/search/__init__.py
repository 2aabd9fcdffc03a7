"""Searches for partitions with few moves, and what makes their answers better."""

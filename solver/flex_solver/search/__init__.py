"""Searches for placements with few moves, and what makes their answers better."""

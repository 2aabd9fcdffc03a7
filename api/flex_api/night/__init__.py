"""A night and its steps, and what changes nodes and DNS between nights."""

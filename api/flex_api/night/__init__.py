"""A night and what it consists of, and what changes nodes and DNS between nights."""

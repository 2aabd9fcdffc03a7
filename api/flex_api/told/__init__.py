"""How things are told: numbers, times and names for people, and lines in a terminal."""

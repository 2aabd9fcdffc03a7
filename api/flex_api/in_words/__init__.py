"""Words for people: numbers, times and names, and lines in a terminal."""

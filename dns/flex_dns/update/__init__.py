"""Changes on their way to a primary: as messages, in what pace, and what became of each."""

"""Address records and zones: what a zone should say, what must change in it, in which order."""

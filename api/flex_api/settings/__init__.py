"""What can be set: one file, typed, section by section."""

"""From the bytes of a log to the counts of one segment."""

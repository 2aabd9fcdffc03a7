"""The report of one night: what it says, as a page, as a file, on paper."""

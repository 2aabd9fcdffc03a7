"""The report of one night: its content, as a page, as a file, on paper."""

"""What a web server hosts, from the files of its control panel, or of nginx and Apache.

A panel is one file and one line in PANELS.
"""

"""The names of virtual hosts, from the files of nginx and Apache."""

"""DNS messages as bytes: names, records, keys, signatures, and one connection to a server."""

"""Name servers: reading zones, changing them by signed updates, checking what they answer."""

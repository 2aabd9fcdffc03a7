"""Where everything in a picture stands: numbers in, geometry out."""

"""Where everything stands in a picture. Takes numbers and returns geometry."""

"""A private BIND for the demo and for tests."""

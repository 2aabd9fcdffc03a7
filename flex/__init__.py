"""FLEX decides which node of a web-hosting cluster serves which site, and says so in DNS."""

__version__ = "0.1.0"

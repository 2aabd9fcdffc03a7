"""Where FLEX keeps what it must remember."""

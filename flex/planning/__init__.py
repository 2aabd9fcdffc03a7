"""The loop of a night: what is known, whether anything moves, propose() and carry_out()."""

"""The fewest moves, proven by integer programs, for clusters that are small enough."""

"""Linear and integer programs, prices, and the process that solves them."""

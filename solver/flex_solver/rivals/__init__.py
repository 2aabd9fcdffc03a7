"""Simple rules and other solvers that FLEX is compared with."""

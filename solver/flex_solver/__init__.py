"""Solvers: a Problem goes in, a Solution comes out."""

"""Solvers: a Problem goes in, a Solution comes out.

A solver is one file and one line here. None of them judges what it found: that is flex.score's.
"""

from __future__ import annotations

from flex.ports import Solver
from flex_solver import auto, exact, local, round_robin, scratch

SOLVERS: dict[str, Solver] = {
    "auto": auto.place,
    "exact": exact.place,
    "local": local.place,
    "round_robin": round_robin.place,
    "scratch": scratch.place,
}

"""Solvers: a Problem goes in, a Solution comes out.

A solver is one file and one line here. The best placement is not judged by any of them: that is flex.score's.
"""

from __future__ import annotations

from flex.ports import Solver
from flex_solver import exact, round_robin, scratch

SOLVERS: dict[str, Solver] = {
    "auto": exact.place,
    "exact": exact.place,
    "round_robin": round_robin.place,
    "scratch": scratch.place,
}

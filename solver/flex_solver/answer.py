"""The rows a solver found, as a Solution: in order, with the bound, and with a word on what is out of the band."""

from __future__ import annotations

import math

import numpy as np

from flex import score
from flex.problem import Floats, Ints, Problem, Solution, in_order
from flex_solver.relax import relaxed


def answer(problem: Problem, rows: Ints, solver: str, *, least: int | None = None, note: str = "") -> Solution:
    """`least` is a bound that the solver knows already, or knows better; it may be the number of moves itself."""
    ordered = in_order(rows.reshape(-1, 2))
    floor = relaxed(problem).least if least is None else least
    moves = score.moves(problem, ordered)
    balanced = worst(problem, ordered) <= problem.tolerance + score.ROUNDING
    said = "" if balanced else _out_of_band(problem, ordered)
    return Solution(
        rows=ordered,
        solver=solver,
        bound=floor,
        proven=balanced and moves == floor,
        note="; ".join(part for part in (said, note) if part),
    )


def worst(problem: Problem, rows: Ints) -> float:
    """The largest distance of an open node from its share, in dimensions that carry load."""
    return float(np.abs(_away(problem, rows)).max(initial=0.0))


def total_off(problem: Problem, rows: Ints) -> float:
    """How far all open nodes together are outside the band."""
    return float(np.maximum(np.abs(_away(problem, rows)) - problem.tolerance - score.ROUNDING, 0.0).sum())


def _away(problem: Problem, rows: Ints) -> Floats:
    seen = problem.open[:, None] & (problem.load.sum(axis=0) > 0)[None, :]
    away: Floats = np.where(seen, score.deviation(problem, rows), 0.0)
    return away


def _out_of_band(problem: Problem, rows: Ints) -> str:
    away = _away(problem, rows)
    node, dimension = divmod(int(np.abs(away).argmax()), len(problem.dimensions))
    off = float(away[node, dimension])
    side = "over" if off > 0 else "under"
    enough = math.ceil((abs(off) - score.ROUNDING) * 1000) / 1000
    advice = f"a tolerance of {enough:.3f} would do" if enough < 1 else "no tolerance allows that"
    where = f"{problem.nodes[node]} stays {side} its {problem.dimensions[dimension]} by {abs(off):.1%}"
    return f"best effort: {where}; {advice}"

"""Turns the rows that a solver found into a Solution.

Takes a Problem, rows, and what the solver knows of the least number of moves. Returns a Solution:
the rows in one fixed order, the bound, whether the moves are proven fewest, and which wishes are
not kept. Does not change what is on which node, except between sites that nobody can tell apart.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from flex.model.best_effort_shortfalls import Relaxation
from flex.placing import score, why_best_effort
from flex.placing.problem import Floats, Ints, Problem, Solution
from flex.placing.why_best_effort import NOBODY_TRIED, CauseFinder
from flex_solver.bounds.linear import relax
from flex_solver.symmetry.canonical_among_twins import told_apart

# The first words of a note that says that the search's time ended.
LATE = "out of time"
# What such a note says of a search for the nearest.
OUT_OF_TIME = "time ran out"
# What a note says where it is proven, and what follows where the nearest was not found.
IMPOSSIBLE = "no partition is balanced"
NOT_NEAREST = f", and {OUT_OF_TIME} before the nearest was found"
# What a note says where there was no time to look for fewer cold bytes.
COLDER = "other plans with as few moves may read fewer cold bytes"
# The first words of a note that says which rules are broken.
BEST_EFFORT = "best effort: "


def answer(
    problem: Problem,
    rows: Ints,
    solver: str,
    *,
    least: int | None = None,
    note: str = "",
    instead: tuple[Relaxation, ...] = (),
    finder: CauseFinder = NOBODY_TRIED,
) -> Solution:
    """`least` is a bound that the solver knows already, or knows better; it may be the number of
    moves itself.

    `instead` is what the solver knows would do, beside what counting finds, where the answer is a
    best effort. `finder` finds out what causes that.
    """
    is_late = LATE in note or OUT_OF_TIME in note
    ordered = told_apart(problem, rows.reshape(-1, 2))
    floor = relax(problem).least if least is None else least
    short = why_best_effort.shortfalls(
        problem, ordered, finder, is_late=is_late and IMPOSSIBLE not in note
    )
    if short:
        last = replace(short[-1], instead=(*short[-1].instead, *instead))
        short = (*short[:-1], last)
    shortfall_text = BEST_EFFORT + "; ".join(map(why_best_effort.text, short)) if short else ""
    return Solution(
        rows=ordered,
        solver=solver,
        bound=floor,
        proven=not short and score.moves(problem, ordered) == floor,
        note="; ".join(part for part in (shortfall_text, note) if part),
        shortfalls=short,
    )


def worst(problem: Problem, rows: Ints) -> float:
    """The largest distance of an open node from its share, in dimensions that carry load."""
    return float(np.abs(_away(problem, rows)).max(initial=0.0))


def total_off(problem: Problem, rows: Ints) -> float:
    """How far all open nodes together are outside the band."""
    return float(
        np.maximum(np.abs(_away(problem, rows)) - problem.tolerance - score.ROUNDING, 0.0).sum()
    )


def _away(problem: Problem, rows: Ints) -> Floats:
    seen = problem.open[:, None] & (problem.load.sum(axis=0) > 0)[None, :]
    away: Floats = np.where(seen, score.deviation(problem, rows), 0.0)
    return away

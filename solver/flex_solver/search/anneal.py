"""Searches around a partition with local_search_loop.py, and says how hot, and for how long.

Takes rows or a partition, and a number of steps. Returns the best partition found, without needless
moves. Does not depend on the clock, which is looked at between parts of the search and only to give
up: the same steps give the same answer. A part is not begun where the slowest so far took more time
than is left.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from flex.placing.problem import Floats, Problem
from flex_solver.bounds.linear import Relaxed
from flex_solver.rows_to_solution import LATE
from flex_solver.search.choose_rows_to_search import make_all_movable, make_some_movable
from flex_solver.search.local_search_loop import CHANCES, MOVE, UNIT, Ints, Schedule, improve
from flex_solver.search.needless_moves import drop_needless_moves
from flex_solver.search.partition_in_integers import Placed

# Parts of the search; each goes on from the best so far, and the clock is looked at between them. A
# guess.
PARTS = 8
# Steps of the heat within one part. A guess.
HEATS = 8
# The heat in moves, from the first step to the last.
HEAT = np.geomspace(0.4, 0.1, PARTS * HEATS)
# What a share of load outside the band costs in moves, from the first step to the last.
WEIGHT = np.geomspace(30, 400, PARTS * HEATS)
# The tolerance that these weights were chosen for. In a narrower band the same part of it is less
# load, and has to be as dear.
USUAL_TOLERANCE = 0.05
# Where balance is all that is wanted, load outside the band is so many times as dear. A guess.
FOR_BALANCE = 16.0
# With no heat to speak of, only cold bytes become fewer: so small a part of a move is what a site's
# are at most.
COLD = np.geomspace(2e-5, 1e-6, HEATS)
# Weights are in sixteenths, and at weight 1 a share outside is as dear as 128 moves.
SIXTEENTHS = 8.0
# The budget's steps for one change tried for each node. A guess.
STEPS = 10
# The part of these changes that only makes cold bytes fewer. A guess.
FOR_COLD = 1 / 16

# Whether so many seconds are left.
InTime = Callable[[float], bool]


def search_around(
    problem: Problem, known: Relaxed, rows: Ints, steps: int, in_time: InTime, seed: int = 0
) -> tuple[Placed, str]:
    """The best partition found around the one in force, starting from the rows, and a word where
    time ran out.
    """
    start = make_some_movable(problem, known, rows)
    weight = WEIGHT * weight_in_band(problem.tolerance)
    placed, parts = _anneal(start, changes(start, steps), in_time, seed, weight)
    late = f"{LATE} after {parts} of {PARTS} parts of the search: another run may differ"
    return drop_needless_moves(placed), "" if parts == PARTS else late


def only_balance(problem: Problem, placed: Placed, steps: int, in_time: InTime) -> Placed:
    """The partition with less load outside the band, or the same: how many rows move hardly counts.

    All that may move is tried, as small sites are what fills the last gaps.
    """
    return drop_needless_moves(search_balance(problem, placed, steps, in_time))


def search_balance(problem: Problem, placed: Placed, steps: int, in_time: InTime) -> Placed:
    """The same, with needless moves in it."""
    start = make_all_movable(problem, placed.rows)
    weight = WEIGHT * FOR_BALANCE * weight_in_band(problem.tolerance)
    balanced, _ = _anneal(start, changes(start, steps), in_time, PARTS, weight)
    return min(start, balanced, key=Placed.merit)


def weight_in_band(tolerance: float) -> float:
    """How many times as dear load outside the band is as in the usual one."""
    return max(1.0, USUAL_TOLERANCE / tolerance)


def changes(placed: Placed, steps: int) -> int:
    """How many changes a search tries for so many of the budget's steps."""
    return steps * len(placed.items.low) // STEPS


def make_colder(placed: Placed, steps: int) -> Placed:
    """The same moves or fewer, for fewer cold bytes."""
    return drop_needless_moves(_search_fewer_cold_bytes(placed, int(steps * FOR_COLD)))


def _anneal(
    placed: Placed, steps: int, in_time: InTime, seed: int, weights: Floats
) -> tuple[Placed, int]:
    """The best found, and how many of the PARTS there was time for. Each seed finds another."""
    slowest, started = 0.0, time.monotonic()
    for part, (heat, weight) in enumerate(
        zip(np.split(HEAT, PARTS), np.split(weights, PARTS), strict=True)
    ):
        now = time.monotonic()
        slowest, started = max(slowest, now - started), now
        if not in_time(slowest):
            return placed, part
        placed = _search(placed, heat, weight, steps // PARTS, seed * (PARTS + 1) + part)
    return placed, PARTS


def _search_fewer_cold_bytes(placed: Placed, steps: int) -> Placed:
    return _search(placed, COLD, np.full(HEATS, WEIGHT[-1]), steps, PARTS)


def _search(placed: Placed, heat: Floats, weight: Floats, steps: int, seed: int) -> Placed:
    schedule = Schedule(
        heat=np.rint(MOVE * heat).astype(np.int64),
        weight=np.rint(weight / SIXTEENTHS).astype(np.int64),
        chance=chances(),
        steps=steps,
        seed=seed,
    )
    return replace(placed, node=improve(placed.items, placed.node, schedule))


def chances() -> Ints:
    """The table that a Schedule wants."""
    even = (np.arange(CHANCES) + 0.5) / CHANCES
    table: Ints = np.rint(-np.log(even) * UNIT).astype(np.int64)
    return table

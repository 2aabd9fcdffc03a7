"""Few moves for clusters of any size, by a search around the placement in force.

Takes a Problem and a Budget. Returns a placement that keeps every wish, is as near to the band as
was found, and has few moves. Does not use HiGHS, except for the bound; large.py goes on from such
searches with it. Equal input gives equal output, as long as the budget's seconds are not used up.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from flex.placing.problem import Budget, Ints, Problem, Solution, in_order
from flex_solver.bounds.linear import Relaxed, relax
from flex_solver.rows_to_solution import LATE, answer
from flex_solver.search.anneal import PARTS, anneal, with_fewer_cold_bytes
from flex_solver.search.choose_rows_to_search import choose
from flex_solver.search.keep_move_limits import limit_moves
from flex_solver.search.needless_moves import drop_needless_moves
from flex_solver.search.placement_in_integers import Placed, to_integers
from flex_solver.search.repair_wishes import repair_all

# Rows of each node that the search may move, of each kind that choose_rows_to_search.py tells apart. A guess.
OF_EACH = 4
# The budget's steps for one change tried for each node. A guess.
STEPS = 10
# The part of these changes that only makes cold bytes fewer. A guess.
FOR_COLD = 1 / 16

InTime = Callable[[], bool]


def place(problem: Problem, budget: Budget) -> Solution:
    until = time.monotonic() + budget.seconds
    known = relax(problem)
    rows = in_order(repair_all(problem))
    found, note = search_around(
        problem, known, rows, budget.steps, lambda: time.monotonic() < until
    )
    best = limit_moves(
        problem, found if note else make_colder(found, changes(found, budget.steps))
    )
    return answer(problem, best.rows, "local", least=known.least, note=note)


def search_around(
    problem: Problem,
    known: Relaxed,
    rows: Ints,
    steps: int,
    in_time: InTime,
    seed: int = 0,
) -> tuple[Placed, str]:
    """The best placement found around the one in force, starting from the rows, and a word where
    time ran out.
    """
    start = with_some_movable(problem, known, rows)
    found, parts = anneal(start, changes(start, steps), in_time, seed)
    late = (
        f"{LATE} after {parts} of {PARTS} parts of the search: another run may differ"
    )
    return drop_needless_moves(found), "" if parts == PARTS else late


def with_some_movable(problem: Problem, known: Relaxed, rows: Ints) -> Placed:
    """The rows in order. Searches may change those that choose_rows_to_search.py chooses."""
    return to_integers(problem, rows, choose(problem, rows, known, OF_EACH))


def changes(found: Placed, steps: int) -> int:
    return steps * len(found.items.low) // STEPS


def make_colder(found: Placed, steps: int) -> Placed:
    """The same moves or fewer, for fewer cold bytes."""
    return drop_needless_moves(with_fewer_cold_bytes(found, int(steps * FOR_COLD)))

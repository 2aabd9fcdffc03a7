"""The solver that FLEX uses: fewest_moves.py for small clusters, large.py for the others.

Takes a Problem and a Budget. Returns one Solution. Does not search by itself; it asks other solvers
and picks the best answer.

Where fewest_moves.py ends without a proof, large.py searches too, and the answer nearer to the band
is taken; of equally near ones the one with fewer moves. Where that answer is still far from the
band, a partition from scratch is tried and taken if it is balanced, because a search around the
partition in force does not get far where nearly everything must move. A partition from scratch is
not taken if it is a best effort, nor where the search ran out of time: the next search goes on from
what this one found. Where limits of moves are in the way, the answer of offload.py is tried as
well.
"""

from __future__ import annotations

import math
import time
from dataclasses import replace

import numpy as np

from flex.placing import score, why_best_effort
from flex.placing.causes_of_imbalance import LIMITS
from flex.placing.problem import Budget, Ints, Problem, Solution
from flex_solver import from_scratch, large
from flex_solver.exact import fewest_moves
from flex_solver.rivals import offload
from flex_solver.rows_to_solution import (
    BEST_EFFORT,
    IMPOSSIBLE,
    LATE,
    answer,
    total_off,
    worst,
)
from flex_solver.search.try_without_cause import ShortSearches

# Sites with load times open nodes, up to which integer programs are solved within seconds. A guess.
SMALL = 2_000
# The part of the budget's seconds for the exact search; the rest is for large.py, should it be
# needed. A guess.
EXACT_SHARE = 1 / 2
# A node is far from the band at so many tolerances from its share. A guess.
LOST = 2
# Sites times nodes up to which a simple rule is tried within limits of moves. A guess.
FEW = 100_000


def place(problem: Problem, budget: Budget) -> Solution:
    if not score.violations(problem, problem.old):
        return answer(problem, problem.old, "auto", least=0)
    found = _search_both(problem, budget)
    if (
        found.shortfalls
        and not problem.limits.none
        and len(problem.sites) * len(problem.nodes) <= FEW
    ):
        found = _or_by_rule(problem, budget, found)
    if (
        worst(problem, found.rows) <= LOST * problem.tolerance
        or IMPOSSIBLE in found.note
        or (LATE in found.note and len(problem.old))
    ):
        return found
    anew = replace(from_scratch.place(problem, budget), bound=found.bound)
    if worst(problem, anew.rows) > problem.tolerance + score.ROUNDING:
        return found
    return min(found, anew, key=lambda solution: _merit(problem, solution.rows))


def _or_by_rule(problem: Problem, budget: Budget, found: Solution) -> Solution:
    """The answer of a simple rule, where that makes more of the few moves there may be."""
    rows = offload.place(problem, budget).rows
    if _merit(problem, found.rows) <= _merit(problem, rows):
        return found
    instead = tuple(
        one for one in found.shortfalls[-1].instead if one.rule in LIMITS.values()
    )
    return answer(
        problem,
        rows,
        found.solver,
        least=found.bound,
        note=_note_beside_best_effort(found),
        instead=instead,
        tries=ShortSearches(),
    )


def _note_beside_best_effort(solution: Solution) -> str:
    """What the solver said of its search, or was proven."""
    said = BEST_EFFORT + "; ".join(map(why_best_effort.text, solution.shortfalls))
    return solution.note.removeprefix(said).removeprefix("; ")


def _search_both(problem: Problem, budget: Budget) -> Solution:
    until = time.monotonic() + budget.seconds
    if (
        np.count_nonzero(problem.load.any(axis=1)) * np.count_nonzero(problem.open)
        > SMALL
    ):
        return large.place(problem, budget)
    found = fewest_moves.place(
        problem, replace(budget, seconds=budget.seconds * EXACT_SHARE)
    )
    if found.proven:
        return found
    # HiGHS may have taken longer than it was given.
    most = budget.seconds * (1 - EXACT_SHARE)
    left = max(0.0, min(most, until - time.monotonic()))
    other = large.place(problem, replace(budget, seconds=left))
    return min(found, other, key=lambda solution: _merit(problem, solution.rows))


def _merit(problem: Problem, rows: Ints) -> tuple[int, float, int, float, int]:
    """Less is better: wishes that are broken, then by how much limits of moves are, then the worst
    node in tenths of the tolerance, then what is outside the band, a move as dear as that.

    Both searches weigh so; distances are rounded, so that what a sum of floats is off by decides
    nothing.
    """
    broken = score.violations(problem, rows)
    wishes = sum(violation.is_wish for violation in broken)
    beyond = sum(
        (one.actual - one.limit) / max(1.0, one.limit)
        for one in broken
        if one.kind in LIMITS
    )
    outside = max(0.0, worst(problem, rows) - problem.tolerance - score.ROUNDING)
    price = problem.tolerance * score.moves(problem, rows)
    tenths = math.ceil(round(outside / problem.tolerance * 10, 3))
    off = round(total_off(problem, rows) + price, 6)
    return wishes, round(beyond, 6), tenths, off, score.cold_bytes(problem, rows)

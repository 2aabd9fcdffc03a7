"""The proven fewest moves where the cluster is small enough for that, the large search elsewhere.

In goes a Problem; out comes one Solution. Where the exact search ends without a proof, both have searched,
and the one is taken that is nearer to the band for fewer moves. Where that is still far from the band, a partition from
scratch is looked at too, and taken if it is balanced: a search around the placement in force does not get far where
nearly everything must move. A best effort is never worth to move everything for.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from flex import score
from flex.problem import Budget, Ints, Problem, Solution
from flex.shortfall import BAND
from flex_solver import exact, large, scratch
from flex_solver.answer import answer, total_off, worst

# Sites with load times open nodes; integer programs of this size are solved within seconds.
SMALL = 2_000
# What the exact search may use of the budget's seconds; the rest is for the other one, should it be needed.
EXACT_SHARE = 2 / 3
# So many tolerances from its share, a node is far from the band.
LOST = 2


def place(problem: Problem, budget: Budget) -> Solution:
    if not score.violations(problem, problem.old):
        return answer(problem, problem.old, "auto", least=0)
    found = _searched(problem, budget)
    if worst(problem, found.rows) <= LOST * problem.tolerance:
        return found
    anew = replace(scratch.place(problem, budget), bound=found.bound)
    if worst(problem, anew.rows) > problem.tolerance + score.ROUNDING:
        return found
    return min(found, anew, key=lambda solution: _merit(problem, solution.rows))


def _searched(problem: Problem, budget: Budget) -> Solution:
    if np.count_nonzero(problem.load.any(axis=1)) * np.count_nonzero(problem.open) > SMALL:
        return large.place(problem, budget)
    found = exact.place(problem, replace(budget, seconds=budget.seconds * EXACT_SHARE))
    if found.proven:
        return found
    other = large.place(problem, replace(budget, seconds=budget.seconds * (1 - EXACT_SHARE)))
    return min(found, other, key=lambda solution: _merit(problem, solution.rows))


def _merit(problem: Problem, rows: Ints) -> tuple[int, int, float, int]:
    """Less is better: wishes and limits that are broken, then the worst node in tenths of the tolerance, then what is
    outside the band, a move as dear as that.

    Both searches weigh so; distances are rounded, so that what a sum of floats is off by decides nothing.
    """
    outside = max(0.0, worst(problem, rows) - problem.tolerance - score.ROUNDING)
    price = problem.tolerance * score.moves(problem, rows)
    broken = sum(violation.kind not in BAND for violation in score.violations(problem, rows))
    tenths = math.ceil(round(outside / problem.tolerance * 10, 3))
    return broken, tenths, round(total_off(problem, rows) + price, 6), score.cold_bytes(problem, rows)

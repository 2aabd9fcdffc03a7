"""The solver that FLEX uses: fewest_moves.py for small clusters, large.py for the others.

Takes a Problem and a Budget. Returns one Solution. Does not search by itself; it asks other solvers
and picks the best answer.

Where fewest_moves.py ends without a proof, large.py searches too, and the answer nearer to the band
is taken; of equally near ones the one with fewer moves. Where that answer is still far from the
band, a partition from scratch is tried and taken if it is balanced, because a search around the
partition in force does not get far where nearly everything must move. A partition from scratch is
not taken if it is a best effort, nor where the search ran out of time: the next search goes on from
what this one found. Where limits of moves are in the way, what off_loading.py makes is tried as
well.
"""

from __future__ import annotations

import math
import time
from dataclasses import replace

import numpy as np

from flex.placing import score
from flex.placing.obstacles_to_balance import LIMITS
from flex.placing.problem import Budget, Ints, Problem, Solution
from flex_solver import from_scratch, large
from flex_solver.exact import fewest_moves
from flex_solver.rows_to_solution import IMPOSSIBLE, LATE, NOT_NEAREST, answer, total_off, worst
from flex_solver.search.cause_trials import CauseTrials, limits_to_exceed
from flex_solver.search.off_loading import hand_over

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
    searched = _search_both(problem, budget)
    if (
        searched.shortfalls
        and not problem.limits.none
        and len(problem.sites) * len(problem.nodes) <= FEW
    ):
        searched = _or_by_rule(problem, budget, searched)
    if (
        worst(problem, searched.rows) <= LOST * problem.tolerance
        or IMPOSSIBLE in searched.note
        or (LATE in searched.note and len(problem.old))
    ):
        return searched
    anew = replace(from_scratch.place(problem, budget), bound=searched.bound)
    if worst(problem, anew.rows) > problem.tolerance + score.ROUNDING:
        return searched
    return min(searched, anew, key=lambda solution: _merit(problem, solution.rows))


def _or_by_rule(problem: Problem, budget: Budget, solution: Solution) -> Solution:
    """The answer of a simple rule, where that makes more of the few moves there may be."""
    rows = hand_over(problem, budget.steps)
    if _merit(problem, solution.rows) <= _merit(problem, rows):
        return solution
    instead = tuple(
        relaxation
        for relaxation in solution.shortfalls[-1].instead
        if relaxation.rule in LIMITS.values()
    )
    proven = IMPOSSIBLE + NOT_NEAREST * (NOT_NEAREST in solution.note)
    late = f"{LATE} for a part of the search: another run may differ"
    answered = answer(
        problem,
        rows,
        solution.solver,
        least=solution.bound,
        note=proven if IMPOSSIBLE in solution.note else late if LATE in solution.note else "",
        instead=instead,
        finder=CauseTrials(limits_to_exceed(instead)),
    )
    return replace(answered, certificate=solution.certificate)


def _search_both(problem: Problem, budget: Budget) -> Solution:
    until = time.monotonic() + budget.seconds
    if np.count_nonzero(problem.load.any(axis=1)) * np.count_nonzero(problem.open) > SMALL:
        return large.place(problem, budget)
    exact = fewest_moves.place(problem, replace(budget, seconds=budget.seconds * EXACT_SHARE))
    if exact.proven:
        return exact
    # HiGHS may have taken longer than it was given.
    most = budget.seconds * (1 - EXACT_SHARE)
    left = max(0.0, min(most, until - time.monotonic()))
    other = large.place(problem, replace(budget, seconds=left))
    return min(exact, other, key=lambda solution: _merit(problem, solution.rows))


def _merit(problem: Problem, rows: Ints) -> tuple[int, float, int, float, int]:
    """Less is better: wishes that are broken, then by how much limits of moves are, then the worst
    node in tenths of the tolerance, then what is outside the band, a move as dear as that.

    Both searches weigh so; distances are rounded, so that what a sum of floats is off by decides
    nothing.
    """
    broken = score.violations(problem, rows)
    wishes = sum(violation.is_wish for violation in broken)
    beyond = sum(
        (violation.actual - violation.limit) / max(1.0, violation.limit)
        for violation in broken
        if violation.kind in LIMITS
    )
    outside = max(0.0, worst(problem, rows) - problem.tolerance - score.ROUNDING)
    price = problem.tolerance * score.moves(problem, rows)
    tenths = math.ceil(round(outside / problem.tolerance * 10, 3))
    off = round(total_off(problem, rows) + price, 6)
    return wishes, round(beyond, 6), tenths, off, score.cold_bytes(problem, rows)

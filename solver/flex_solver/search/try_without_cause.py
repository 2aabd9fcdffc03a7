"""Tries whether a partition can be balanced without one site, or be nearer to that without wishes,
large sites or limits of moves.

Takes a Problem in which no balanced partition was found, and what may be a cause. Returns whether a
short search does better without it: then it is one. Does not prove that it is none; where the
search finds nothing, it is not called a cause.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from flex.placing import score
from flex.placing.causes_of_imbalance import LIMITS, IsNearer
from flex.placing.problem import Ints, Problem, in_order
from flex.placing.why_best_effort import BAND
from flex_solver.search.anneal import only_balance
from flex_solver.search.bring_nodes_near_band import bring_nodes_near
from flex_solver.search.choose_rows_to_search import with_all_movable
from flex_solver.search.keep_move_limits import limit_moves
from flex_solver.search.partition_in_integers import Placed
from flex_solver.search.repair_wishes import repair_all

# Steps of one search. A guess.
STEPS = 20_000
# Sites times open nodes, at most, where sites are tried: each takes a second then. A guess.
MOST = 100_000
# The same for wishes and limits, which are tried up to ten times for one answer. A guess.
MOST_FOR_RULES = 20_000
# Of a distance from the share that count: sums of floats differ by less.
DIGITS = 9
# How many wishes are broken, and how far off the worst node is that is outside the band.
Off = tuple[int, float]


def can_balance_without(problem: Problem, site: int) -> bool:
    """Within the limits of moves."""
    if len(problem.sites) * int(problem.open.sum()) > MOST:
        return False
    less = _without(problem, site)
    return any(
        all(one.is_wish for one in score.violations(less, rows))
        for rows in _short_searches(less)
    )


def finds_nearer(
    free: Placed | None = None, *, is_late: bool = False
) -> IsNearer | None:
    """`free` is what a search found that knew no limits of moves. Where the problem is too large
    for more, or `is_late`, what counting found stands, and limits that this breaks are called a
    cause if it is nearer. None where nothing can be said.
    """
    known: list[Off] = []

    def best(problem: Problem, rows: Ints) -> Off:
        """Luck of one more search is no cause."""
        if not known:
            found = (_off(problem, rows), _least_off(problem))
            known.append(min(off for off in found if off))
        return known[0]

    def is_nearer(less: Problem, problem: Problem, rows: Ints) -> bool:
        if not is_late and not _is_large(problem):
            now, then = best(problem, rows), _least_off(less)
        elif not _has_same_wishes(less, problem):
            return True
        else:
            now = _off(problem, rows)
            then = _within_limits(less, free.rows) if free else None
        return then is not None and then[0] <= now[0] and then[1] < now[1]

    return None if is_late and free is None else is_nearer


def _is_large(problem: Problem) -> bool:
    return len(problem.sites) * int(problem.open.sum()) > MOST_FOR_RULES


def _has_same_wishes(one: Problem, other: Problem) -> bool:
    return (
        one.pinned is other.pinned
        and one.barred is other.barred
        and one.replicas is other.replicas
    )


def _least_off(problem: Problem) -> Off | None:
    """The nearest that short searches find within the limits."""
    found = [_within_limits(problem, rows) for rows in _short_searches(problem)]
    return min((off for off in found if off), default=None)


def _within_limits(problem: Problem, rows: Ints) -> Off | None:
    """How far off that is; None where it breaks limits of moves."""
    broken = score.violations(problem, rows)
    return None if any(one.kind in LIMITS for one in broken) else _off(problem, rows)


def _off(problem: Problem, rows: Ints) -> Off:
    broken = score.violations(problem, rows)
    outside = [abs(one.actual) for one in broken if one.kind in BAND]
    return sum(one.is_wish for one in broken), round(max(outside, default=0.0), DIGITS)


def _short_searches(problem: Problem) -> tuple[Ints, ...]:
    """One that moves little, and one that looks at nothing but balance; within the limits of moves
    as far as taking moves back brings them there.
    """
    rows = in_order(repair_all(problem))
    near = bring_nodes_near(with_all_movable(problem, rows))
    balanced = only_balance(problem, near, STEPS, lambda seconds: True)  # noqa: ARG005
    return tuple(limit_moves(problem, found).rows for found in (near, balanced))


def _without(problem: Problem, site: int) -> Problem:
    """The site asks for nothing. What all the others ask is the whole then."""
    load = problem.load.copy()
    load[site] = 0.0
    asked = (load * problem.replicas[:, None]).sum(axis=0)
    share = problem.share[problem.open].sum()
    scale = np.divide(share, asked, out=np.ones_like(asked), where=asked > 0)
    return replace(problem, load=load * scale)

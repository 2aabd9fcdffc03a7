"""Tries whether a partition can be balanced without one site, or be nearer to that without wishes,
large sites or limits of moves.

Takes a Problem in which no balanced partition was found, and what may be a cause. Returns whether a
short search does better without it: then it is one. Does not prove that it is none; where the
search finds nothing, it is not called a cause.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import reduce

import numpy as np

from flex.placing import score
from flex.placing.causes_of_imbalance import (
    LIMITS,
    Cause,
    count_causes,
    farthest,
    limits,
)
from flex.placing.problem import Ints, Problem, in_order
from flex.placing.score import ROUNDING
from flex.placing.why_best_effort import BAND
from flex_solver.search.anneal import only_balance
from flex_solver.search.bring_nodes_near_band import bring_nodes_near
from flex_solver.search.choose_rows_to_search import with_all_movable
from flex_solver.search.keep_move_limits import limit_moves
from flex_solver.search.repair_wishes import repair_all

# Steps of one search. A guess.
STEPS = 20_000
# Sites times open nodes, at most, where anything is tried, up to twelve times for one answer; and
# the nodes that are taken for fewer, as sites alone take time as well. Guesses.
MOST = 20_000
FEW_NODES = 10
# So many of the counted causes are tried one by one.
ONE_BY_ONE = 5
# Of a distance from the share that count: sums of floats differ by less.
DIGITS = 9
# How many wishes are broken, and how far off the worst node is that is outside the band.
Off = tuple[int, float]


@dataclass(frozen=True, slots=True, eq=False)
class ShortSearches:
    """`free` are rows that a search found that knew no limits of moves. Where the problem is too
    large for more, what counting found stands, and limits that `free` breaks are causes if it is
    nearer.
    """

    free: Ints | None = None

    def balances_without(self, problem: Problem, site: int) -> bool:
        """Within the limits of moves."""
        less = _without_site(problem, site)
        return not _is_large(problem) and any(
            all(one.is_wish for one in score.violations(less, rows))
            for rows in _short_searches(less)
        )

    def in_the_way(self, problem: Problem, rows: Ints) -> Sequence[Cause]:
        """As few as possible of the limits of moves and of what is counted."""
        known = count_causes(problem)
        if _is_large(problem):
            return [*self._limits_in_the_way(problem, rows), *farthest(known)]
        # Luck of one more search is no cause.
        now = min(_off(problem, rows), _least_off(problem))

        def is_enough(causes: Sequence[Cause]) -> bool:
            broken, off = _least_off(_without(problem, causes))
            return broken <= now[0] and off < now[1]

        # Each of these alone keeps a node as far off as the nearest has it.
        needed = [cause for cause in known if cause.least >= now[1] - ROUNDING]
        kept = [*limits(problem), *known]
        first = kept[: max(len(needed), ONE_BY_ONE) + len(kept) - len(known)]
        if not kept or not is_enough(kept):
            return []
        if is_enough(first):
            kept = first
        for cause in reversed(first):
            fewer = [each for each in kept if each is not cause]
            if fewer and cause not in needed and is_enough(fewer):
                kept = fewer
        return kept

    def _limits_in_the_way(self, problem: Problem, rows: Ints) -> Sequence[Cause]:
        if self.free is None or _off(problem, self.free) >= _off(problem, rows):
            return []
        broken = score.violations(problem, self.free)
        return limits(problem, {one.kind for one in broken})


def _is_large(problem: Problem) -> bool:
    return len(problem.sites) * max(int(problem.open.sum()), FEW_NODES) > MOST


def _least_off(problem: Problem) -> Off:
    """The nearest that short searches find within the limits."""
    return min(
        (
            _off(problem, rows)
            for rows in _short_searches(problem)
            if not any(one.kind in LIMITS for one in score.violations(problem, rows))
        ),
        default=(len(problem.sites), math.inf),
    )


def _off(problem: Problem, rows: Ints) -> Off:
    broken = score.violations(problem, rows)
    outside = [abs(one.actual) for one in broken if one.kind in BAND]
    return sum(one.is_wish for one in broken), round(max(outside, default=0.0), DIGITS)


def _short_searches(problem: Problem) -> Iterator[Ints]:
    """One that moves little, and some that look at nothing but balance, one of them from scratch;
    within the limits of moves as far as taking moves back brings them there.
    """
    near = bring_nodes_near(with_all_movable(problem, in_order(repair_all(problem))))
    yield limit_moves(problem, near).rows
    anew = repair_all(replace(problem, old=problem.old[:0]))
    for start in (near, with_all_movable(problem, in_order(anew))):
        found = only_balance(problem, start, STEPS, lambda seconds: True)  # noqa: ARG005
        yield limit_moves(problem, found).rows


def _without(problem: Problem, causes: Sequence[Cause]) -> Problem:
    return reduce(lambda made, cause: cause.without(made), causes, problem)


def _without_site(problem: Problem, site: int) -> Problem:
    """The site asks for nothing. What all the others ask is the whole then."""
    load = problem.load.copy()
    load[site] = 0.0
    asked = (load * problem.replicas[:, None]).sum(axis=0)
    share = problem.share[problem.open].sum()
    scale = np.divide(share, asked, out=np.ones_like(asked), where=asked > 0)
    return replace(problem, load=load * scale)

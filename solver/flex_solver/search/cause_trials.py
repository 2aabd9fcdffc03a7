"""Tries whether a partition can be balanced without one site, or be nearer to that without wishes,
large sites or limits of moves.

Takes a Problem in which no balanced partition was found, and what may be a cause. Returns whether a
short search does better without it: then it is one. Does not prove that it is none; where the
search finds nothing, it is not called a cause.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass, replace
from functools import reduce

import numpy as np

from flex.model.best_effort_shortfalls import Relaxation
from flex.placing import score
from flex.placing.obstacles_to_balance import LIMITS, Cause, farthest_causes, limit_causes
from flex.placing.problem import Ints, Problem, sort_by_site
from flex.placing.score import ROUNDING
from flex.placing.why_best_effort import BAND
from flex_solver.search.anneal import search_balance
from flex_solver.search.bring_nodes_near_band import bring_nodes_near
from flex_solver.search.choose_rows_to_search import make_all_movable
from flex_solver.search.keep_move_limits import limit_moves
from flex_solver.search.off_loading import hand_over
from flex_solver.search.repair_wishes import repair_all

# Steps of one search, with few nodes. A guess.
STEPS = 20_000
# Sites times open nodes times resources, at most, where anything is tried, up to twelve times for
# one answer. A guess.
MOST = 80_000
# No problem counts as one with fewer nodes, or resources. Guesses.
FEW_NODES = 10
FEW_RESOURCES = 4
# So many of the counted causes are tried one by one.
ONE_BY_ONE = 5
# A search for the nearest comes so near to it, in tolerances. A guess.
NEAR = 0.1
# Of a distance from the share that count: sums of floats differ by less.
DIGITS = 9
# How many wishes are broken, how far limits of moves are exceeded, and how far off the worst node
# is that is outside the band.
Off = tuple[int, float, float]


@dataclass(frozen=True, slots=True)
class CauseTrials:
    """A partition is known that is nearer to the band, and that breaks these `limits` of moves.
    Where the problem is too large for trials these are the causes, or else what counting found.
    """

    limits: Set[str] = frozenset()

    def find_causes(
        self, problem: Problem, rows: Ints, counted: Sequence[Cause]
    ) -> Sequence[Cause]:
        """As few as possible of the limits of moves and of what is counted."""
        known = limit_causes(problem, self.limits)
        if _is_large(problem):
            off = _measure_off(problem, rows)[-1]
            return known or farthest_causes(counted, off, NEAR * problem.tolerance)
        # Luck of one more search is no cause.
        now = min(_measure_off(problem, rows), _least_off(problem))

        def is_enough(causes: Sequence[Cause]) -> bool:
            return _is_nearer(_least_off(_remove_causes(problem, causes)), now)

        # Each of these alone keeps a node as far off as the nearest has it.
        needed = [cause for cause in counted if cause.least >= now[-1] - ROUNDING]
        limits, several = limit_causes(problem), max(len(needed), ONE_BY_ONE)
        for kept in (known, [*limits, *counted[:several]], [*limits, *counted]):
            if kept and (kept is known or is_enough(kept)):
                break
        else:
            return []
        for cause in reversed(kept[: len(limits) + several]):
            fewer = [each for each in kept if each is not cause]
            if fewer and cause not in needed and is_enough(fewer):
                kept = fewer
        return kept

    def can_balance_without(self, problem: Problem, site: int) -> bool:
        """Within the limits of moves."""
        if _is_large(problem):
            return False
        less = _least_off(_silence_site(problem, site))
        return not less[-1] and _is_nearer(less, _least_off(problem))


def limits_of_nearer(problem: Problem, rows: Ints, nearer: Ints) -> frozenset[str]:
    """The kinds of limits that are between the rows and others, if these are nearer to the band."""
    broken, _, off = _measure_off(problem, nearer)
    now = _measure_off(problem, rows)
    if broken > now[0] or off >= now[-1]:
        return frozenset()
    kinds = {violation.kind for violation in score.violations(problem, nearer)}
    return frozenset(kinds & LIMITS.keys())


def limits_to_exceed(instead: Sequence[Relaxation]) -> frozenset[str]:
    """The kinds of limits with more of which a balanced partition is known."""
    rules = {relaxation.rule for relaxation in instead}
    return frozenset(kind for kind, rule in LIMITS.items() if rule in rules)


def _is_large(problem: Problem) -> bool:
    nodes = max(int(problem.open.sum()), FEW_NODES)
    return len(problem.sites) * nodes * max(len(problem.dimensions), FEW_RESOURCES) > MOST


def _is_nearer(distance: Off, other: Off) -> bool:
    return distance[0] <= other[0] and distance[1] <= other[1] and distance[2] < other[2]


def _least_off(problem: Problem) -> Off:
    """The nearest that short searches find."""
    return min(_measure_off(problem, rows) for rows in _short_searches(problem))


def _measure_off(problem: Problem, rows: Ints) -> Off:
    broken = score.violations(problem, rows)
    outside = [abs(violation.actual) for violation in broken if violation.kind in BAND]
    beyond = [
        (violation.actual - violation.limit) / max(violation.limit, 1.0)
        for violation in broken
        if violation.kind in LIMITS
    ]
    return (
        sum(violation.is_wish for violation in broken),
        round(sum(beyond), DIGITS),
        round(max(outside, default=0.0), DIGITS),
    )


def _short_searches(problem: Problem) -> Iterator[Ints]:
    """One that moves little, and some that look at nothing but balance, one of them from scratch;
    within the limits of moves as far as taking moves back brings them there. Where there are such
    limits, also what a simple rule makes of them.
    """
    if not problem.limits.none:
        yield hand_over(problem, STEPS)
    near = bring_nodes_near(make_all_movable(problem, sort_by_site(repair_all(problem))))
    yield limit_moves(problem, near).rows
    anew = repair_all(replace(problem, old=problem.old[:0]))
    nodes = max(int(problem.open.sum()), FEW_NODES)
    steps = STEPS * FEW_NODES // nodes
    for start in (near, make_all_movable(problem, sort_by_site(anew))):
        balanced = search_balance(problem, start, steps, lambda seconds: True)  # noqa: ARG005
        yield limit_moves(problem, balanced).rows


def _remove_causes(problem: Problem, causes: Sequence[Cause]) -> Problem:
    return reduce(lambda reduced, cause: cause.without(reduced), causes, problem)


def _silence_site(problem: Problem, site: int) -> Problem:
    """The site asks for nothing. What all the others ask is the whole then."""
    load = problem.load.copy()
    load[site] = 0.0
    demand = (load * problem.replicas[:, None]).sum(axis=0)
    share = problem.share[problem.open].sum()
    scale = np.divide(share, demand, out=np.ones_like(demand), where=demand > 0)
    return replace(problem, load=load * scale)

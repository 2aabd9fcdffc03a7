"""Why a partition is a best effort: which rules it breaks, what causes that, and what would help.

Takes a Problem and the rows of an answer. Returns Shortfalls, in the order in which the judge
(score.py) names broken rules. Where nodes are outside the band, only the one that is farthest
outside is named: the others wait until that one is back. What would help is found by counting. Does
not prove it: solvers that can prove more add it themselves.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Protocol

import numpy as np

from flex.model.best_effort_shortfalls import EITHER, PINS, RESTING, Relaxation, Shortfall
from flex.placing import obstacles_to_balance, score
from flex.placing.obstacles_to_balance import LIMITS, Cause
from flex.placing.problem import Floats, Ints, Problem
from flex.placing.score import ROUNDING, Violation
from flex.placing.wish_conflicts import conflict

# How many broken wishes and limits, and causes of each, are named.
MOST = 5
# So many causes of each are in a sentence.
SAID = 2
BAND = ("over", "under")
# What is named where the search did not come to an end.
TOO_LITTLE_TIME = "too little time for the search"
# What would do, where one of it is enough.
ONE = {"moves": "move", PINS: "pin taken back", RESTING: "site that rests moved all the same"}


class CauseFinder(Protocol):
    """Finds out what is better without what may be a cause."""

    def find_causes(
        self, problem: Problem, rows: Ints, counted: Sequence[Cause]
    ) -> Sequence[Cause]:
        """Without all of these, limits of moves among them, some partition is nearer to the band
        than the rows are.
        """

    def can_balance_without(self, problem: Problem, site: int) -> bool:
        """Whether all the others can be balanced, and not with it."""


class NobodyTried:
    """What counting alone knows."""

    def find_causes(
        self, problem: Problem, rows: Ints, counted: Sequence[Cause]
    ) -> Sequence[Cause]:
        off = float(np.abs(_away(problem, rows)).max())
        return obstacles_to_balance.farthest_causes(counted, off, ROUNDING)

    def can_balance_without(self, problem: Problem, site: int) -> bool:  # noqa: ARG002
        return False


NOBODY_TRIED = NobodyTried()


def shortfalls(
    problem: Problem, rows: Ints, finder: CauseFinder = NOBODY_TRIED, *, is_late: bool = False
) -> tuple[Shortfall, ...]:
    """Where the search `is_late`, and the answer farther off than counting can tell, that is named
    before other causes.
    """
    broken = score.violations(problem, rows)
    others = [violation for violation in broken if violation.kind not in BAND][:MOST]
    rule_shortfalls = [_rule_shortfall(problem, violation) for violation in others]
    return (
        (*rule_shortfalls, _band_shortfall(problem, rows, finder, is_late=is_late))
        if any(v.kind in BAND for v in broken)
        else tuple(rule_shortfalls)
    )


def limits_for(problem: Problem, rows: Ints, least: int) -> tuple[Relaxation, ...]:
    """What limits of moves would have to be for these rows, where those are all that they break.

    No balanced partition has less than `least` moves.
    """
    needed: dict[str, float] = {}
    for broken in score.violations(problem, rows):
        if broken.kind not in LIMITS:
            return ()
        needed[broken.kind] = max(broken.actual, needed.get(broken.kind, 0.0))
    return tuple(
        Relaxation(LIMITS[kind], most, least=(kind, most) == ("moves", least))
        for kind, most in needed.items()
    )


def text(shortfall: Shortfall) -> str:
    """One line for people: the first causes alone, as the answer has all that are known."""
    because = f", because of {_first(shortfall.because)}" if shortfall.because else ""
    would_do = [
        f"{_name_of(each)} would do{', and none smaller' * each.least}"
        for each in shortfall.instead
    ]
    if shortfall.kind in BAND and not any(each.rule == "tolerance" for each in shortfall.instead):
        would_do.insert(0, "no tolerance allows that")
    return "; ".join([f"{_sentence(shortfall)}{because}", *would_do])


def _first(causes: Sequence[str]) -> str:
    """Two of them, and how many more there are: the last one may be such a number itself."""
    if len(causes) <= SAID:
        return "; ".join(causes)
    more = re.fullmatch(r"(\d+) more", causes[-1])
    left = len(causes) - SAID + (int(more[1]) - 1 if more else 0)
    return f"{'; '.join(causes[:SAID])}; and {left} more"


def _sentence(shortfall: Shortfall) -> str:
    what = shortfall.subject
    match shortfall.kind:
        case kind if kind in BAND:
            node, _, resource = what.partition(" ")
            return f"{node} stays {shortfall.kind} its {resource} by {shortfall.actual:.1%}"
        case "moves" | "cold" | "inflow":
            return (
                f"{shortfall.kind} of {what}: {shortfall.actual:.0f} with a limit "
                f"of {shortfall.limit:.0f}"
            )
        case _:
            return f"{shortfall.kind}: {what}"


def _name_of(relaxation: Relaxation) -> str:
    if relaxation.rule == "tolerance":
        return f"a tolerance of {relaxation.enough:.3f}"
    enough = round(relaxation.enough)
    if relaxation.rule == EITHER:
        return (
            f"{_count_in_words(PINS, enough - relaxation.rests)} and "
            f"{_count_in_words(RESTING, relaxation.rests)}"
        )
    return _count_in_words(relaxation.rule, enough)


def _count_in_words(rule: str, count: int) -> str:
    return f"{count} {ONE.get(rule, rule) if count == 1 else rule}"


def _rule_shortfall(problem: Problem, broken: Violation) -> Shortfall:
    if broken.is_wish:
        wish_conflict = conflict(problem, broken.sites)
        because, instead = _some(list(wish_conflict.because)), wish_conflict.instead
    else:
        because, instead = (), (Relaxation(LIMITS[broken.kind], broken.actual),)
    return Shortfall(broken.kind, broken.subject, broken.limit, broken.actual, because, instead)


def _band_shortfall(
    problem: Problem, rows: Ints, finder: CauseFinder, *, is_late: bool
) -> Shortfall:
    away = _away(problem, rows)
    node, dimension = divmod(int(np.abs(away).argmax()), len(problem.dimensions))
    off = float(away[node, dimension])
    enough = math.ceil((abs(off) - ROUNDING) * 1000) / 1000
    counted = obstacles_to_balance.count_causes(problem)
    least = counted[0].least if counted else 0.0
    causes = finder.find_causes(problem, rows, counted)
    if not causes and off > 0:
        # A site that is as much as that needs no try.
        causes = [
            cause
            for cause in obstacles_to_balance.farthest_causes(counted, off, ROUNDING)
            if cause.is_one_site
        ]
    because = [TOO_LITTLE_TIME] if is_late and abs(off) > least + ROUNDING else []
    because += dict.fromkeys(name for cause in causes for name in cause.names())
    if not causes and off > 0:
        because += [
            f"{problem.sites[site]}, {part:.0%} of the node"
            for site, part in _large_on(problem, rows, node, dimension)[:MOST]
            if finder.can_balance_without(problem, site)
        ]
    return Shortfall(
        "over" if off > 0 else "under",
        f"{problem.nodes[node]} {problem.dimensions[dimension]}",
        problem.tolerance,
        abs(off),
        _some(because),
        (Relaxation("tolerance", enough, least=least > enough - 0.001),) if enough < 1 else (),
    )


def _away(problem: Problem, rows: Ints) -> Floats:
    seen = problem.open[:, None] & (problem.load.sum(axis=0) > 0)[None, :]
    away: Floats = np.where(seen, score.deviation(problem, rows), 0.0)
    return away


def _large_on(problem: Problem, rows: Ints, node: int, dimension: int) -> list[tuple[int, float]]:
    """The largest sites on the node, as far as more than the band's width depends on each, with
    their parts of the node.
    """
    sites = rows[rows[:, 1] == node, 0]
    parts = problem.load[sites, dimension] / problem.share[node]
    return [
        (int(sites[i]), float(parts[i]))
        for i in np.argsort(-parts, kind="stable").tolist()
        if parts[i] > problem.tolerance
    ]


def _some(names: list[str]) -> tuple[str, ...]:
    more = (f"{len(names) - MOST} more",) if len(names) > MOST else ()
    return (*names[:MOST], *more)

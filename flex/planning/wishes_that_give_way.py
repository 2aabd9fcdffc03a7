"""The last resort of a night: where an answer does not meet every wish, some wishes give way, so
that the plan does not fail.

Takes a Problem and a solver. Returns the answer, and which wishes gave way for it. Does not check
whether the wishes can be met together: wishes/suspended_wishes.py has done that before. A solver
may still not find an answer, for lack of time or because thousands of sites must be apart from each
other. Then it is asked again without the wishes that give way first, one kind at a time, and only
those of the sites that it cannot place. Wishes to be apart give way first, then wishes to be
together. What a site asks for alone can always be met then; an answer that does not meet it is
wrong, and is refused.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from flex.errors import Infeasible
from flex.placing import score
from flex.placing.problem import Budget, Problem, Solution
from flex.placing.score import Violation
from flex.placing.why_best_effort import BAND, shortfalls
from flex.ports import Solver
from flex.wishes import seat_rivals_apart

# So many wishes give way one by one; after that, all that are broken do at once.
ONE_BY_ONE = 4
# How many are named.
MOST = 5


@dataclass(frozen=True, slots=True)
class _Drops:
    """Groups of sites that are to be apart, or together, no more."""

    apart: tuple[frozenset[int], ...] = ()
    together: tuple[frozenset[int], ...] = ()


def solve_with_wishes_that_give_way(asked: Problem, solver: Solver, budget: Budget) -> Solution:
    """The answer keeps every wish but those that its note names. Raises Infeasible where that takes
    another solver.
    """
    answer, eased, tries = solver(asked, budget), asked, 0
    while broken := _broken_wishes(eased, answer):
        drops = _next(eased, broken, all_at_once=tries >= ONE_BY_ONE)
        if not (drops.apart or drops.together):
            raise _wrong(broken)
        eased, tries = _without(eased, drops), tries + 1
        answer = solver(eased, budget)
    return answer if eased is asked else _with_what_gave_way(asked, answer)


def _broken_wishes(asked: Problem, answer: Solution) -> list[Violation]:
    return [violation for violation in score.violations(asked, answer.rows) if violation.is_wish]


def _next(asked: Problem, broken: Sequence[Violation], *, all_at_once: bool) -> _Drops:
    """What gives way next, for the first that is broken or for each: of as many as would do the
    last.
    """
    found = _Drops()
    for violation in broken if all_at_once else broken[:1]:
        drops = _for(asked, violation)
        found = _Drops((*found.apart, *drops.apart), (*found.together, *drops.together))
    return found


def _for(asked: Problem, broken: Violation) -> _Drops:
    sites = set(broken.sites)
    if broken.kind == "apart":
        return _Drops(apart=tuple(group for group in asked.apart if sites <= group)[-1:])
    near = set(
        next(
            seat_rivals_apart.circles(
                [*sites, *range(len(asked.sites))], seat_rivals_apart.rivals_of(_tied_sites(asked))
            )
        )
    )
    if apart := [group for group in asked.apart if sites & group] or [
        group for group in asked.apart if near & group
    ]:
        return _Drops(apart=tuple(apart[-1:]))
    return _Drops(together=tuple(group for group in asked.together if sites & group)[-1:])


def _tied_sites(asked: Problem) -> tuple[frozenset[int], ...]:
    return (*asked.apart, *asked.together)


def _without(asked: Problem, drops: _Drops) -> Problem:
    return replace(
        asked,
        apart=tuple(group for group in asked.apart if group not in drops.apart),
        together=tuple(group for group in asked.together if group not in drops.together),
    )


def _with_what_gave_way(asked: Problem, answer: Solution) -> Solution:
    """The answer to less, beside all that was asked: it proves nothing of that, and what it broke
    is said.
    """
    gone = [f"{one.subject}, to be {one.kind}" for one in _broken_wishes(asked, answer)]
    if not gone:
        return answer
    more = f"; and {len(gone) - MOST} more" if len(gone) > MOST else ""
    said = (
        "wishes that give way, as no partition was found that keeps all: "
        f"{'; '.join(gone[:MOST])}{more}"
    )
    note = "; ".join(filter(None, [said, answer.note]))
    more_asked = [one for one in shortfalls(asked, answer.rows) if one.kind not in BAND]
    band = [one for one in answer.shortfalls if one.kind in BAND]
    return replace(answer, proven=False, note=note, shortfalls=(*more_asked, *band))


def _wrong(broken: Sequence[Violation]) -> Infeasible:
    named = "; ".join(f"{violation.kind}: {violation.subject}" for violation in broken[:MOST])
    return Infeasible(
        "a partition that keeps every wish",
        f"{len(broken)} cannot be kept ({named})",
        kept="the partition in force stays",
        advice="take back a pin with `flex sites unpin`, or take a node back (`flex "
        "nodes undrain`, `up`)",
    )

"""Decides whether anything is moved at all, and how much of it tonight.

Takes a Problem, a solver and the rules of movement. Returns the rows to have next, and those to
have in the end. A new site, a new pin or a node that was taken out of service is repaired, as long
as the imbalance stays below the one that starts a plan. Beyond that the whole cluster is balanced
anew. What exceeds the limits of one night is left to the next night. Does not find out which rule
kept moves from being made: which_rules_stop_moves.py does.

Whether the wishes can be met together was checked before: wishes/suspended_wishes.py does. A solver
may still not find an answer that meets them all, for lack of time or because thousands of sites
must be apart from each other. Then it is asked again without the wishes that give way first, one
kind at a time, and only those of the sites that it cannot place, so that the plan does not fail.
Wishes to be apart give way first, then wishes to be together. What a site asks for alone can always
be met then; an answer that does not meet it is wrong, and is refused.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

import numpy as np

from flex.errors import Infeasible
from flex.model.plan import Proven
from flex.placing import score, tonights_part_of_plan
from flex.placing.problem import Budget, Ints, Problem, Solution
from flex.placing.score import Violation
from flex.placing.why_best_effort import BAND, shortfalls
from flex.planning.movement_rules import NO_GUARD, Guard
from flex.ports import Solver
from flex.wishes import seat_rivals_apart

# Since when a site is on a node that it did not come to lately.
ALWAYS = datetime.min.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True, eq=False)
class Claim:
    """What a solver was asked, and its answer with the certificate."""

    problem: Problem
    solution: Solution


@dataclass(frozen=True, slots=True, eq=False)
class Decision:
    """`rows` are to be had tonight, `whole` in the end; `later` counts the moves that are left to
    the next nights.

    `claim` is what a solver says of the rows, where these are all of its answer.

    `worst` is the largest distance from a fair share in force, `reached` that of the best rows that
    were found, None where nobody looked for any.
    """

    rows: Ints
    quality: Proven
    whole: Ints
    later: int = 0
    worst: float = 0.0
    reached: float | None = None
    claim: Claim | None = None


def decide(
    problem: Problem,
    solver: Solver,
    budget: Budget,
    *,
    trigger: float,
    margin: float,
    guard: Guard = NO_GUARD,
) -> Decision:
    """The rows to have next, which may be those in force, and how good they are.

    Raises Infeasible.
    """
    broken = _has_broken_wish(problem)
    worst = score.balance_in_force(problem).worst
    held = resting(problem, guard)
    if _is_tolerated(worst, trigger, guard):
        if not broken:
            return Decision(problem.old, _none_needed(worst, trigger), problem.old, worst=worst)
        # A new site or a new pin is no reason to rebalance: what is tolerated tonight is tolerated
        # all the same.
        tolerated = max(trigger, worst)
        tolerant = replace(held, tolerance=max(tolerated, problem.tolerance))
        repaired = solve_with_wishes_that_give_way(tolerant, solver, budget)
        reached = score.balance(problem, repaired.rows).worst
        if reached <= tolerated + score.ROUNDING:
            return replace(
                _tonight(problem, Claim(tolerant, repaired), _quality(repaired), guard),
                worst=worst,
                reached=reached,
            )
    solution = solve_with_wishes_that_give_way(held, solver, budget)
    reached = score.balance(problem, solution.rows).worst
    # The bound is one on balanced partitions: of a best effort it says nothing.
    within = reached <= problem.tolerance + score.ROUNDING
    quality = _quality(solution if within else replace(solution, bound=0))
    if not broken and worst - reached < margin:
        return Decision(
            problem.old,
            _quality_of_staying_rows(problem, solution),
            problem.old,
            worst=worst,
            reached=reached,
        )
    return replace(
        _tonight(problem, Claim(held, solution), quality, guard), worst=worst, reached=reached
    )


def repairs_first(problem: Problem, trigger: float, guard: Guard) -> bool:
    """Whether the solver is asked first to keep the wishes with as little balance as there is."""
    worst = score.balance_in_force(problem).worst
    return _is_tolerated(worst, trigger, guard) and _has_broken_wish(problem)


def _is_tolerated(worst: float, trigger: float, guard: Guard) -> bool:
    return worst <= trigger or guard.over < guard.hold


def _has_broken_wish(problem: Problem) -> bool:
    return any(violation.is_wish for violation in score.violations(problem, problem.old))


def resting(problem: Problem, guard: Guard) -> Problem:
    """The problem in which sites that rest stay where they are, as far as nobody wishes otherwise.

    A site that is to be on fewer nodes stays on those that it has had for longest: or it would
    wander from one to another by way of a replica that comes and goes.
    """
    wished = {
        *problem.pinned,
        *problem.barred,
        *(site for group in (*problem.apart, *problem.together) for site in group),
    }
    held = {
        site: _oldest_first(problem, guard, site)
        for site in _resting(problem, guard)
        if site not in wished
    }
    stay = {
        site: frozenset(nodes[: int(problem.replicas[site])])
        for site, nodes in held.items()
        if nodes
    }
    return (
        replace(problem, pinned={**problem.pinned, **stay}, resting=frozenset(stay))
        if stay
        else problem
    )


def _resting(problem: Problem, guard: Guard) -> list[int]:
    """The sites that rest, and those that are on more nodes than they are to be, and came to one of
    them lately.
    """
    staying = guard.staying
    fewer = np.bincount(problem.old[:, 0], minlength=len(problem.sites)) > problem.replicas
    named = enumerate(problem.sites)
    return [site for site, name in named if name in staying or (fewer[site] and name in guard.came)]


def _oldest_first(problem: Problem, guard: Guard, site: int) -> list[int]:
    """The open nodes that the site is on."""
    since = guard.came.get(problem.sites[site], {})
    held = [
        node for node in problem.old[problem.old[:, 0] == site, 1].tolist() if problem.open[node]
    ]
    return sorted(held, key=lambda node: (since.get(problem.nodes[node], ALWAYS), node))


def _tonight(problem: Problem, claim: Claim, quality: Proven, guard: Guard) -> Decision:
    rows = claim.solution.rows
    whole = Decision(rows, quality, rows, claim=claim)
    if guard.limits is None:
        return whole
    first, later = tonights_part_of_plan.first(
        problem, rows, guard.limits, due_nodes(problem, guard), urgent_sites(problem, guard)
    )
    # What an adoption gives up is given up at once, or after a yes: before that the cluster is as
    # it always was.
    if not later or (guard.adopted and not len(score.new_rows(problem, rows))):
        return whole
    return Decision(first, replace(quality, bound=0, proven=False), rows, later)


def due_nodes(problem: Problem, guard: Guard) -> frozenset[int]:
    """The nodes of the problem that must be empty tonight."""
    return frozenset(n for n, name in enumerate(problem.nodes) if name in guard.due)


def urgent_sites(problem: Problem, guard: Guard) -> frozenset[int]:
    """The sites of the problem whose wishes go before others."""
    return frozenset(s for s, name in enumerate(problem.sites) if name in guard.urgent)


def _none_needed(worst: float, trigger: float) -> Proven:
    within = (
        f"the worst node is {worst:.1%} off, within the trigger of {trigger:.1%}"
        if worst <= trigger
        else ""
    )
    return Proven("none needed", bound=0, proven=True, note=within)


def _quality_of_staying_rows(problem: Problem, solution: Solution) -> Proven:
    """For rows in force that stay. What was proven of other rows does not hold for them."""
    if np.array_equal(solution.rows, problem.old):
        return Proven(
            solution.solver,
            bound=0,
            proven=False,
            note=solution.note,
            shortfalls=solution.shortfalls,
        )
    return Proven(solution.solver, bound=0, proven=False)


def _quality(solution: Solution) -> Proven:
    return Proven(
        solution.solver, solution.bound, solution.proven, solution.note, solution.shortfalls
    )


# So many wishes give way one by one; after that, all that are broken do at once.
ONE_BY_ONE = 4
# How many are named.
MOST = 5


@dataclass(frozen=True, slots=True)
class _Drops:
    """Groups of sites that are to be apart, or together, no more."""

    apart: tuple[frozenset[int], ...] = ()
    together: tuple[frozenset[int], ...] = ()


def solve_with_wishes_that_give_way(problem: Problem, solver: Solver, budget: Budget) -> Solution:
    """The answer keeps every wish but those that its note names. Raises Infeasible where that takes
    another solver.
    """
    answer, eased, tries = solver(problem, budget), problem, 0
    while broken := _broken_wishes(eased, answer):
        drops = _next(eased, broken, all_at_once=tries >= ONE_BY_ONE)
        if not (drops.apart or drops.together):
            raise _wrong(broken)
        eased, tries = _ease_problem(eased, drops), tries + 1
        answer = solver(eased, budget)
    return answer if eased is problem else _note_what_gave_way(problem, answer)


def _broken_wishes(problem: Problem, answer: Solution) -> list[Violation]:
    return [violation for violation in score.violations(problem, answer.rows) if violation.is_wish]


def _next(problem: Problem, broken: Sequence[Violation], *, all_at_once: bool) -> _Drops:
    """What gives way next, for the first that is broken or for each: of as many as would do the
    last.
    """
    all_drops = _Drops()
    for violation in broken if all_at_once else broken[:1]:
        drops = _choose_drops(problem, violation)
        all_drops = _Drops((*all_drops.apart, *drops.apart), (*all_drops.together, *drops.together))
    return all_drops


def _choose_drops(problem: Problem, broken: Violation) -> _Drops:
    sites = set(broken.sites)
    if broken.kind == "apart":
        return _Drops(apart=tuple(group for group in problem.apart if sites <= group)[-1:])
    near = set(
        next(
            seat_rivals_apart.circles(
                [*sites, *range(len(problem.sites))],
                seat_rivals_apart.rivals_of((*problem.apart, *problem.together)),
            )
        )
    )
    if apart := [group for group in problem.apart if sites & group] or [
        group for group in problem.apart if near & group
    ]:
        return _Drops(apart=tuple(apart[-1:]))
    return _Drops(together=tuple(group for group in problem.together if sites & group)[-1:])


def _ease_problem(problem: Problem, drops: _Drops) -> Problem:
    return replace(
        problem,
        apart=tuple(group for group in problem.apart if group not in drops.apart),
        together=tuple(group for group in problem.together if group not in drops.together),
    )


def _note_what_gave_way(problem: Problem, answer: Solution) -> Solution:
    """The answer to less, beside all that was asked: it proves nothing of that, and what it broke
    is said.
    """
    gone = [
        f"{violation.subject}, to be {violation.kind}"
        for violation in _broken_wishes(problem, answer)
    ]
    if not gone:
        return answer
    more = f"; and {len(gone) - MOST} more" if len(gone) > MOST else ""
    sentence = (
        "wishes that give way, as no partition was found that keeps all: "
        f"{'; '.join(gone[:MOST])}{more}"
    )
    note = "; ".join(filter(None, [sentence, answer.note]))
    more_asked = [
        shortfall for shortfall in shortfalls(problem, answer.rows) if shortfall.kind not in BAND
    ]
    band = [shortfall for shortfall in answer.shortfalls if shortfall.kind in BAND]
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

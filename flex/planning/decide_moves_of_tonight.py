"""Decides whether anything is moved at all, and how much of it tonight.

Takes a Problem, a solver and the rules of movement. Returns the rows to have next, and those to
have in the end. A new site, a new pin or a node that was taken out of service is repaired, as long
as the imbalance stays below the one that starts a plan. Beyond that the whole cluster is balanced
anew. What exceeds the limits of one night is left to the next night. Does not find out which rule
kept moves from being made: which_rules_stop_moves.py does.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime

import numpy as np

from flex.model.plan import Proven
from flex.placing import score, tonights_part_of_plan
from flex.placing.problem import Budget, Ints, Problem, Solution
from flex.planning.rules_of_movement import NO_GUARD, Guard
from flex.planning.wishes_that_give_way import solve_with_wishes_that_give_way
from flex.ports import Solver

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
    asked: Problem,
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
    broken = _has_broken_wish(asked)
    worst = score.balance_in_force(asked).worst
    held = resting(asked, guard)
    if _is_tolerated(worst, trigger, guard):
        if not broken:
            return Decision(asked.old, _none_needed(worst, trigger), asked.old, worst=worst)
        # A new site or a new pin is no reason to rebalance: what is tolerated tonight is tolerated
        # all the same.
        tolerated = max(trigger, worst)
        tolerant = replace(held, tolerance=max(tolerated, asked.tolerance))
        repaired = solve_with_wishes_that_give_way(tolerant, solver, budget)
        reached = score.balance(asked, repaired.rows).worst
        if reached <= tolerated + score.ROUNDING:
            return replace(
                _tonight(asked, Claim(tolerant, repaired), _quality(repaired), guard),
                worst=worst,
                reached=reached,
            )
    found = solve_with_wishes_that_give_way(held, solver, budget)
    reached = score.balance(asked, found.rows).worst
    # The bound is one on balanced partitions: of a best effort it says nothing.
    within = reached <= asked.tolerance + score.ROUNDING
    quality = _quality(found if within else replace(found, bound=0))
    if not broken and worst - reached < margin:
        return Decision(asked.old, _of_none(asked, found), asked.old, worst=worst, reached=reached)
    return replace(
        _tonight(asked, Claim(held, found), quality, guard), worst=worst, reached=reached
    )


def repairs_first(asked: Problem, trigger: float, guard: Guard) -> bool:
    """Whether the solver is asked first to keep the wishes with as little balance as there is."""
    worst = score.balance_in_force(asked).worst
    return _is_tolerated(worst, trigger, guard) and _has_broken_wish(asked)


def _is_tolerated(worst: float, trigger: float, guard: Guard) -> bool:
    return worst <= trigger or guard.over < guard.hold


def _has_broken_wish(asked: Problem) -> bool:
    return any(violation.is_wish for violation in score.violations(asked, asked.old))


def resting(asked: Problem, guard: Guard) -> Problem:
    """The problem in which sites that rest stay where they are, as far as nobody wishes otherwise.

    A site that is to be on fewer nodes stays on those that it has had for longest: or it would
    wander from one to another by way of a replica that comes and goes.
    """
    wished = {
        *asked.pinned,
        *asked.barred,
        *(site for group in (*asked.apart, *asked.together) for site in group),
    }
    held = {
        site: _oldest_first(asked, guard, site)
        for site in _resting(asked, guard)
        if site not in wished
    }
    stay = {
        site: frozenset(nodes[: int(asked.replicas[site])]) for site, nodes in held.items() if nodes
    }
    return (
        replace(asked, pinned={**asked.pinned, **stay}, resting=frozenset(stay)) if stay else asked
    )


def _resting(asked: Problem, guard: Guard) -> list[int]:
    """The sites that rest, and those that are on more nodes than they are to be, and came to one of
    them lately.
    """
    staying = guard.staying
    fewer = np.bincount(asked.old[:, 0], minlength=len(asked.sites)) > asked.replicas
    named = enumerate(asked.sites)
    return [site for site, name in named if name in staying or (fewer[site] and name in guard.came)]


def _oldest_first(asked: Problem, guard: Guard, site: int) -> list[int]:
    """The open nodes that the site is on."""
    since = guard.came.get(asked.sites[site], {})
    held = [node for node in asked.old[asked.old[:, 0] == site, 1].tolist() if asked.open[node]]
    return sorted(held, key=lambda node: (since.get(asked.nodes[node], ALWAYS), node))


def _tonight(asked: Problem, claim: Claim, quality: Proven, guard: Guard) -> Decision:
    rows = claim.solution.rows
    whole = Decision(rows, quality, rows, claim=claim)
    if guard.limits is None:
        return whole
    first, later = tonights_part_of_plan.first(
        asked, rows, guard.limits, due_nodes(asked, guard), urgent_sites(asked, guard)
    )
    # What an adoption gives up is given up at once, or after a yes: before that the cluster is as
    # it always was.
    if not later or (guard.adopted and not len(score.new_rows(asked, rows))):
        return whole
    return Decision(first, replace(quality, bound=0, proven=False), rows, later)


def due_nodes(asked: Problem, guard: Guard) -> frozenset[int]:
    """The nodes of the problem that must be empty tonight."""
    return frozenset(n for n, name in enumerate(asked.nodes) if name in guard.due)


def urgent_sites(asked: Problem, guard: Guard) -> frozenset[int]:
    """The sites of the problem whose wishes go before others."""
    return frozenset(s for s, name in enumerate(asked.sites) if name in guard.urgent)


def _none_needed(worst: float, trigger: float) -> Proven:
    within = (
        f"the worst node is {worst:.1%} off, within the trigger of {trigger:.1%}"
        if worst <= trigger
        else ""
    )
    return Proven("none needed", bound=0, proven=True, note=within)


def _of_none(asked: Problem, found: Solution) -> Proven:
    """For rows in force that stay. What was proven of other rows does not hold for them."""
    if np.array_equal(found.rows, asked.old):
        return Proven(
            found.solver, bound=0, proven=False, note=found.note, shortfalls=found.shortfalls
        )
    return Proven(found.solver, bound=0, proven=False)


def _quality(solution: Solution) -> Proven:
    return Proven(
        solution.solver, solution.bound, solution.proven, solution.note, solution.shortfalls
    )

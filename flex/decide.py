"""Whether anything is moved at all, and if so, how much of it tonight.

In go a Problem, a solver and the rules of movement; out come the rows to have next, and what kept others from them. A
new site, a new pin or a node taken out of service is repaired within the imbalance that starts no plan of its own; only
beyond that is the whole cluster balanced anew. What is over the limits of one night is left to the next.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from flex import score, waves
from flex.consent import Limits, Stop
from flex.domain import Proven
from flex.last_resort import solved
from flex.ports import Solver
from flex.problem import Budget, Ints, Problem, Solution

TRIGGER = "safety.trigger_imbalance"
HOLD = "safety.hold_runs"
MARGIN = "safety.min_improvement"
COOLDOWN = "safety.site_cooldown"


@dataclass(frozen=True, slots=True)
class Resting:
    """The sites that a rule keeps where they are, as they moved lately or often, each with the reason."""

    rule: str
    limit: str
    sites: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Guard:
    """What a night may do. The worst node was over the trigger in `over` nights running, tonight among them.

    `resting` sites moved lately and stay where they are; `due` nodes must be empty tonight,
    whatever the limits say, which are those of one night (None: of a plan that somebody looks at).
    """

    hold: int = 1
    over: int = 1
    resting: tuple[Resting, ...] = ()
    due: frozenset[str] = frozenset()
    limits: Limits | None = None

    @property
    def staying(self) -> Mapping[str, str]:
        """Every site that rests, with the reason."""
        return {site: why for each in self.resting for site, why in each.sites.items()}


@dataclass(frozen=True, slots=True, eq=False)
class Decision:
    """`later` counts the moves that are left to the next nights."""

    rows: Ints
    quality: Proven
    stops: tuple[Stop, ...] = ()
    later: int = 0


def decide(
    asked: Problem, solver: Solver, budget: Budget, *, trigger: float, margin: float, guard: Guard = Guard()
) -> Decision:
    """The rows to have next, which may be those in force, and how good they are. Raises Infeasible."""
    broken = any(violation.is_wish for violation in score.violations(asked, asked.old))
    worst = score.balance_in_force(asked).worst
    if stop := _stays(worst, trigger, guard):
        if not broken:
            return Decision(asked.old, Proven("none needed", bound=0, proven=True, note=stop.told), (stop,))
        # A new site or a new pin is no reason to rebalance: what the trigger tolerates is tolerated all the same.
        repaired = solved(replace(asked, tolerance=max(trigger, asked.tolerance)), solver, budget)
        if score.balance(asked, repaired.rows).worst <= max(trigger, worst):
            return _tonight(asked, repaired.rows, _quality(repaired), guard)
    held = resting(asked, guard.staying)
    found = solved(held, solver, budget)
    reached = score.balance(asked, found.rows).worst
    stops = _rest(guard) if held is not asked else ()
    if not broken and worst - reached < margin:
        said = "the best plan found betters the worst node by less"
        stop = _stop(MARGIN, f"{margin:.1%}", f"{worst - reached:.1%}", said)
        quality = Proven(found.solver, bound=0, proven=False, note=stop.told)
        return Decision(asked.old, quality, (*stops, stop))
    # The bound is one on balanced placements: of a best effort it says nothing.
    within = reached <= asked.tolerance + score.ROUNDING
    return _tonight(asked, found.rows, _quality(found if within else replace(found, bound=0)), guard, stops)


def resting(asked: Problem, sites: Mapping[str, str]) -> Problem:
    """The problem in which these sites stay where they are, as far as nobody wishes otherwise."""
    if not sites:
        return asked
    wished = {*asked.pinned, *asked.barred, *(site for group in (*asked.apart, *asked.together) for site in group)}
    count = np.bincount(asked.old[:, 0], minlength=len(asked.sites))
    closed = set(asked.old[~asked.open[asked.old[:, 1]], 0].tolist())
    stay = {
        site: frozenset(asked.old[asked.old[:, 0] == site, 1].tolist())
        for site, name in enumerate(asked.sites)
        if name in sites and site not in wished and site not in closed and count[site] == asked.replicas[site]
    }
    return replace(asked, pinned={**asked.pinned, **stay}) if stay else asked


def _stays(worst: float, trigger: float, guard: Guard) -> Stop | None:
    """Why nothing is balanced anew."""
    if worst <= trigger:
        said = "nothing moves while the worst node is within the trigger"
        return _stop(TRIGGER, f"{trigger:.1%}", f"{worst:.1%}", said)
    if guard.over < guard.hold:
        return _stop(HOLD, f"{guard.hold} runs", f"{guard.over}", "the imbalance has not lasted for long enough")
    return None


def _rest(guard: Guard) -> tuple[Stop, ...]:
    return tuple(_rests(each) for each in guard.resting if each.sites)


def _rests(each: Resting) -> Stop:
    named = "; ".join(f"{site} ({why})" for site, why in sorted(each.sites.items())[:5])
    count = f"{len(each.sites):,} site{'' if len(each.sites) == 1 else 's'}"
    return _stop(each.rule, each.limit, count, f"sites that moved lately stay: {named}")


def _stop(rule: str, limit: str, actual: str, said: str) -> Stop:
    """One that is gone over when a plan is made."""
    return Stop(rule, limit, actual, said, override=f"flex plan --force {rule}")


def _tonight(asked: Problem, rows: Ints, quality: Proven, guard: Guard, stops: tuple[Stop, ...] = ()) -> Decision:
    if guard.limits is None:
        return Decision(rows, quality, stops)
    due = frozenset(n for n, name in enumerate(asked.nodes) if name in guard.due)
    first, later = waves.first(asked, rows, guard.limits, due)
    if not later:
        return Decision(rows, quality, stops)
    said = f"the limits of a night leave {later:,} more move{'' if later == 1 else 's'} to the next ones"
    spread = tuple(_stop(*limit, said) for limit in waves.over(asked, rows, guard.limits))
    note = "; ".join(filter(None, [quality.note, *(stop.told for stop in spread)]))
    return Decision(first, replace(quality, bound=0, proven=False, note=note), (*stops, *spread), later)


def _quality(solution: Solution) -> Proven:
    return Proven(solution.solver, solution.bound, solution.proven, solution.note, solution.shortfalls)

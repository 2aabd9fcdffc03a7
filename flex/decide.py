"""Whether anything is moved at all, and if so, how much of it tonight.

In go a Problem, a solver and the rules of movement; out come the rows to have next, and what kept others from them. A
new site, a new pin or a node taken out of service is repaired within the imbalance that starts no plan of its own; only
beyond that is the whole cluster balanced anew. What is over the limits of one night is left to the next.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

import numpy as np

from flex import score, waves
from flex.consent import Limits, Stop
from flex.domain import Proven
from flex.last_resort import solved
from flex.ports import Solver
from flex.problem import Budget, Ints, Lately, Problem, Solution

TRIGGER = "safety.trigger_imbalance"
HOLD = "safety.hold_runs"
MARGIN = "safety.min_improvement"
COOLDOWN = "safety.site_cooldown"

# Since when a site is on a node that it did not come to lately.
ALWAYS = datetime.min.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Resting:
    """The sites that a rule keeps where they are, as they moved lately or often, each with the reason.

    `needed` is how many replicas sites needed in the nights that the rule looks back on: they keep as many.
    """

    rule: str
    limit: str
    sites: Mapping[str, str]
    needed: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Guard:
    """What a night may do. The worst node was over the trigger in `over` nights running, tonight among them.

    `resting` sites moved lately and stay where they are; `came` says when sites came to nodes, as far as that is known.
    `due` nodes must be empty tonight, whatever the limits say, which are those of one night (None: of a plan that
    somebody looks at).
    """

    hold: int = 1
    over: int = 1
    resting: tuple[Resting, ...] = ()
    came: Mapping[str, Mapping[str, datetime]] = field(default_factory=dict)
    due: frozenset[str] = frozenset()
    limits: Limits | None = None

    @property
    def staying(self) -> Mapping[str, str]:
        """Every site that rests, with the reason."""
        return {site: why for each in self.resting for site, why in each.sites.items()}

    @property
    def lately(self) -> Lately:
        needed: dict[str, int] = {}
        for site, count in (pair for each in self.resting for pair in each.needed.items()):
            needed[site] = max(count, needed.get(site, 0))
        return Lately(needed, self.staying)


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
    keeping, held = kept(asked), resting(asked, guard)
    stops = tuple(_rests(guard, {held.sites[site] for site in held.resting}, keeping))
    if stop := _stays(worst, trigger, guard):
        if not broken:
            quality = Proven("none needed", bound=0, proven=True, note=stop.told)
            return Decision(asked.old, quality, (*_rests(guard, frozenset(), keeping), stop))
        # A new site or a new pin is no reason to rebalance: what is tolerated tonight is tolerated all the same.
        tolerated = max(trigger, worst)
        repaired = solved(replace(held, tolerance=max(tolerated, asked.tolerance)), solver, budget)
        if score.balance(asked, repaired.rows).worst <= tolerated + score.ROUNDING:
            held_back = (stop,) if stop.rule == HOLD else ()
            return _tonight(asked, repaired.rows, _quality(repaired), guard, (*stops, *held_back))
    found = solved(held, solver, budget)
    reached = score.balance(asked, found.rows).worst
    if not broken and worst - reached < margin:
        said = "the best plan found betters the worst node by less"
        stop = _stop(MARGIN, f"{margin:.1%}", f"{worst - reached:.1%}", said)
        quality = Proven(found.solver, bound=0, proven=False, note=stop.told)
        return Decision(asked.old, quality, (*stops, stop))
    # The bound is one on balanced placements: of a best effort it says nothing.
    within = reached <= asked.tolerance + score.ROUNDING
    return _tonight(asked, found.rows, _quality(found if within else replace(found, bound=0)), guard, stops)


def resting(asked: Problem, guard: Guard) -> Problem:
    """The problem in which sites that rest stay where they are, as far as nobody wishes otherwise.

    A site that is to be on fewer nodes stays on those that it has had for longest: or it would wander from one to
    another by way of a replica that comes and goes.
    """
    wished = {*asked.pinned, *asked.barred, *(site for group in (*asked.apart, *asked.together) for site in group)}
    held = {site: _oldest_first(asked, guard, site) for site in _resting(asked, guard) if site not in wished}
    stay = {site: frozenset(nodes[: int(asked.replicas[site])]) for site, nodes in held.items() if nodes}
    return replace(asked, pinned={**asked.pinned, **stay}, resting=frozenset(stay)) if stay else asked


def _resting(asked: Problem, guard: Guard) -> list[int]:
    """The sites that rest, and those that are on more nodes than they are to be, and came to one of them lately."""
    staying = guard.staying
    fewer = np.bincount(asked.old[:, 0], minlength=len(asked.sites)) > asked.replicas
    named = enumerate(asked.sites)
    return [site for site, name in named if name in staying or (fewer[site] and name in guard.came)]


def _oldest_first(asked: Problem, guard: Guard, site: int) -> list[int]:
    """The open nodes that the site is on."""
    since = guard.came.get(asked.sites[site], {})
    held = [node for node in asked.old[asked.old[:, 0] == site, 1].tolist() if asked.open[node]]
    return sorted(held, key=lambda node: (since.get(asked.nodes[node], ALWAYS), node))


def kept(asked: Problem) -> dict[str, int]:
    """The sites that keep more nodes than they need tonight, and how many."""
    count = np.bincount(asked.old[:, 0], minlength=len(asked.sites))
    several = np.flatnonzero((count > 1) & (count >= asked.replicas)).tolist()
    return {asked.sites[s]: int(asked.replicas[s]) for s in several if asked.replicas[s] > asked.needs.get(s, 1)}


def _stays(worst: float, trigger: float, guard: Guard) -> Stop | None:
    """Why nothing is balanced anew."""
    if worst <= trigger:
        said = "nothing moves while the worst node is within the trigger"
        return _stop(TRIGGER, f"{trigger:.1%}", f"{worst:.1%}", said)
    if guard.over < guard.hold:
        return _stop(HOLD, f"{guard.hold} runs", f"{guard.over}", "the imbalance has not lasted for long enough")
    return None


def _rests(guard: Guard, staying: Set[str], keeping: Mapping[str, int]) -> Iterator[Stop]:
    """What each rule of rest stopped: moves of sites that are `staying`, or that those `keeping` nodes give some up."""
    for each in guard.resting:
        stay = {site: why for site, why in each.sites.items() if site in staying}
        keep = {site: f"{count} nodes" for site, count in keeping.items() if count <= each.needed.get(site, 0)}
        said = {"sites that moved lately stay": stay, "sites keep as many nodes as they needed lately": keep}
        if stay or keep:
            count = len(stay.keys() | keep.keys())
            told = "; ".join(f"{what}: {_named(sites)}" for what, sites in said.items() if sites)
            yield _stop(each.rule, each.limit, f"{count:,} site{'' if count == 1 else 's'}", told)


def _named(found: Mapping[str, str]) -> str:
    return "; ".join(f"{site} ({why})" for site, why in sorted(found.items())[:5])


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

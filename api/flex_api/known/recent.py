"""What earlier nights mean for tonight: how long the imbalance has lasted, and which sites have moved enough lately.

In go a world, the period that is planned from and the rules to go over; out comes what a night may do (flex/decide.py).
Nothing is decided here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import asdict, replace
from datetime import datetime, timedelta

from flex import failover
from flex.consent import Limits
from flex.decide import COOLDOWN, HOLD, MARGIN, TRIGGER, Guard, Resting
from flex.domain import Cycle, Period
from flex.given import Rules
from flex.headline import Headline
from flex_api.told import words
from flex_api.wiring import World

OFTEN = "safety.max_moves_per_site"

# What each limit of a night is without the rule.
LIFTED: dict[str, dict[str, float]] = {
    "safety.max_moved_sites": {"moved_sites": 2**60},
    "safety.max_moved_sites_ratio": {"moved_share": 1.0},
    "safety.max_moved_working_set": {"cold_bytes": 2**60},
    "safety.max_inflow_per_node": {"inflow": 2**60},
}
RULES = (TRIGGER, HOLD, MARGIN, COOLDOWN, OFTEN, *LIFTED)

# How far back moves of a site are counted, and how many cycles are looked at for that.
MONTH = timedelta(days=30)
CYCLES = 100
# A node whose deadline comes before the next night must be empty after this one.
NIGHT = timedelta(days=1)


def guard(world: World, period: Period, force: Collection[str] = ()) -> Guard:
    safety = world.settings.safety
    known = _known(world)
    return Guard(
        hold=1 if HOLD in force else safety.hold_runs,
        over=1 + _nights_over(known, period, safety.trigger_imbalance),
        resting=tuple(_resting(world, known, force)),
        came=_came(known),
        due=frozenset(_due(world)),
        limits=_limits(safety.limits(), force) if safety.spread else None,
    )


def forced(rules: Rules, force: Collection[str]) -> Rules:
    """The rules without those that somebody goes over by name."""
    return replace(
        rules, trigger=0.0 if TRIGGER in force else rules.trigger, margin=-1.0 if MARGIN in force else rules.margin
    )


def _known(world: World) -> list[Cycle]:
    """The cycles of the last month, newest first, without old first placements: they are large, and moved nothing."""
    now = world.clock()
    since, first = now - MONTH, now - world.settings.safety.site_cooldown
    lately = [one for one in world.store.headlines() if one.created >= (since if _moves(one) else first)]
    return [world.store.cycle(one.id) for one in lately[:CYCLES]]


def _moves(one: Headline) -> bool:
    return bool(one.base) or one.moves < one.sites


def _limits(limits: Limits, force: Collection[str]) -> Limits:
    lifted = {name: value for rule in force for name, value in LIFTED.get(rule, {}).items()}
    return Limits(**{**asdict(limits), **lifted})


def _nights_over(known: Sequence[Cycle], period: Period, trigger: float) -> int:
    """In how many periods before this one, running, the worst node was over the trigger."""
    last: dict[datetime, Cycle] = {}
    for cycle in known:
        if cycle.period.end < period.end:
            last.setdefault(cycle.period.end, cycle)
    nights = 0
    for _, cycle in sorted(last.items(), reverse=True):
        if cycle.before is None or cycle.before.worst <= trigger:
            break
        nights += 1
    return nights


def _resting(world: World, known: Sequence[Cycle], force: Collection[str]) -> Iterator[Resting]:
    """The sites that stay where they are for now, by the rule that keeps them, and what they needed meanwhile."""
    now, safety = world.clock(), world.settings.safety
    month, lately = now - MONTH, now - safety.site_cooldown
    chosen = _chosen(known, now)
    if OFTEN not in force:
        often = Counter(site for cycle, when in chosen if when > month for site in _moved(cycle))
        many = {site: number for site, number in often.items() if number >= safety.max_moves_per_site}
        told = {site: f"moved {words.count(number, 'time')} in 30 days" for site, number in many.items()}
        needed = {site: count for site, count in _needed(known, month).items() if site in many}
        yield Resting(OFTEN, f"{safety.max_moves_per_site} in 30 days", told, needed)
    if COOLDOWN not in force:
        told = {}
        for cycle, when in chosen:
            if when > lately:
                told |= dict.fromkeys(_shrunk(cycle), f"gave a node up {words.ago(when, now)}")
                told |= dict.fromkeys(_moved(cycle), f"moved {words.ago(when, now)}")
        yield Resting(COOLDOWN, words.span(safety.site_cooldown), told, _needed(known, lately))


def _needed(known: Sequence[Cycle], since: datetime) -> dict[str, int]:
    """The most replicas that any plan after then found each site to need for its load."""
    found: dict[str, int] = {}
    for site, count in (pair for cycle in known if cycle.created > since for pair in cycle.needs.items()):
        found[site] = max(count, found.get(site, 0))
    return found


def _chosen(known: Sequence[Cycle], now: datetime) -> list[tuple[Cycle, datetime]]:
    """What came into force, the earliest first, and when; off a dead node is no move that anybody chose."""
    applied = [one for one in reversed(known) if one.state == "applied" and one.quality.solver != failover.SOLVER]
    return [(one, one.settled) for one in applied if one.settled and one.settled <= now]


def _moved(cycle: Cycle) -> set[str]:
    """Sites that left a node for another one, or got one more."""
    return {*cycle.grown, *(move.site for move in cycle.moves if move.source and move.target)}


def _shrunk(cycle: Cycle) -> set[str]:
    return {move.site for move in cycle.moves if move.target is None}


def _came(known: Sequence[Cycle]) -> dict[str, dict[str, datetime]]:
    """When sites came to nodes, of those that were on others before."""
    found: dict[str, dict[str, datetime]] = {}
    for cycle in reversed(known):
        if cycle.base and cycle.settled and cycle.state == "applied":
            for move in cycle.moves:
                if move.target:
                    found.setdefault(move.site, {})[move.target] = cycle.settled
    return found


def _due(world: World) -> list[str]:
    """Nodes that are down, and those whose deadline comes before the next night."""
    soon = world.clock() + NIGHT
    return [
        order.node
        for order in world.store.node_orders()
        if order.state == "down" or (order.state == "draining" and order.deadline and order.deadline <= soon)
    ]

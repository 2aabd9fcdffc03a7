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
        due=frozenset(_due(world)),
        limits=_limits(safety.limits(), force) if safety.spread else None,
    )


def forced(rules: Rules, force: Collection[str]) -> Rules:
    """The rules without those that somebody goes over by name."""
    return replace(
        rules, trigger=0.0 if TRIGGER in force else rules.trigger, margin=-1.0 if MARGIN in force else rules.margin
    )


def _known(world: World) -> list[Cycle]:
    """The cycles of the last month, newest first, without first placements: they are large, and moved nothing."""
    since = world.clock() - MONTH
    lately = [one for one in world.store.headlines() if one.created >= since and (one.base or one.moves < one.sites)]
    return [world.store.cycle(one.id) for one in lately[:CYCLES]]


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
    """The sites that stay where they are for now, by the rule that keeps them."""
    now, safety = world.clock(), world.settings.safety
    moved = [(site, when) for cycle in known for site, when in _moved(cycle) if when <= now < when + MONTH]
    often = Counter(site for site, _ in moved)
    if OFTEN not in force:
        many = {site: number for site, number in often.items() if number >= safety.max_moves_per_site}
        told = {site: f"moved {words.count(number, 'time')} in 30 days" for site, number in many.items()}
        yield Resting(OFTEN, f"{safety.max_moves_per_site} in 30 days", told)
    if COOLDOWN not in force:
        lately = {site: when for site, when in reversed(moved) if now < when + safety.site_cooldown}
        told = {site: f"moved {words.ago(when, now)}" for site, when in lately.items()}
        yield Resting(COOLDOWN, words.span(safety.site_cooldown), told)


def _moved(cycle: Cycle) -> list[tuple[str, datetime]]:
    """Sites that left a node for another one; off a dead node is no move that anybody chose."""
    if cycle.settled is None or cycle.state != "applied" or cycle.quality.solver == failover.SOLVER:
        return []
    return [(site, cycle.settled) for site in sorted({m.site for m in cycle.moves if m.source and m.target})]


def _due(world: World) -> list[str]:
    """Nodes that are down, and those whose deadline comes before the next night."""
    soon = world.clock() + NIGHT
    return [
        order.node
        for order in world.store.node_orders()
        if order.state == "down" or (order.state == "draining" and order.deadline and order.deadline <= soon)
    ]

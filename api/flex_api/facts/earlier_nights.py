"""What earlier nights mean for tonight: how long the imbalance has lasted, and which sites have
moved enough lately.

Takes a world, the period that is planned from, and the rules that somebody overrides. Returns what
a night may do. Does not decide anything: flex/planning/decide_moves_of_tonight.py does.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from flex.model.period import Period
from flex.model.plan import Plan
from flex.model.plan_summary import Headline
from flex.placing import failover
from flex.planning.facts_and_rules import Rules
from flex.planning.movement_rules import COOLDOWN, OFTEN, Guard, Reins, Resting
from flex.wishes.wishes_in_force_now import NIGHT
from flex.zones.zone_changes import DRIFT
from flex_api.in_words import amounts
from flex_api.wiring import World

# More names than any cluster has.
EVERY = 2**60

# How far back moves of a site are counted.
MONTH = timedelta(days=30)
# Plans that are looked at for that, at most. A guess.
PLANS = 100


def guard(world: World, period: Period, force: Collection[str] = ()) -> Guard:
    safety = world.settings.safety
    known = _recent_plans(world)
    every = Guard(
        hold=safety.hold_runs,
        over=1 + _nights_over(known, period, safety.trigger_imbalance),
        resting=tuple(_resting(world, known)),
        came=_came(known),
        due=frozenset(_due(world)),
        limits=safety.limits() if safety.spread else None,
        urgent=frozenset(_urgent(world, known)),
        adopted=not world.store.in_force(),
    )
    return Reins(safety.trigger_imbalance, safety.min_improvement, every).lift_rules(force).guard


def drop_forced_rules(rules: Rules, force: Collection[str]) -> Rules:
    """The rules without those that somebody goes over by name."""
    reins = Reins(rules.trigger, rules.margin).lift_rules(force)
    limits = replace(rules.limits, drifted_names=EVERY) if DRIFT in force else rules.limits
    return replace(rules, trigger=reins.trigger, margin=reins.margin, limits=limits)


def _recent_plans(world: World) -> list[Plan]:
    """The plans of the last month, newest first, without old first partitions: they are large, and
    moved nothing.
    """
    now = world.clock()
    since, first = now - MONTH, now - world.settings.safety.site_cooldown
    lately = [
        headline
        for headline in world.store.headlines()
        if max(headline.created, headline.settled or headline.created)
        >= (since if _moves(headline) else first)
    ]
    return [world.store.plan(headline.id) for headline in lately[:PLANS]]


def _moves(headline: Headline) -> bool:
    return bool(headline.base) or headline.moves < headline.sites


def _nights_over(known: Sequence[Plan], period: Period, trigger: float) -> int:
    """In how many periods before this one, running, the worst node was over the trigger."""
    last: dict[datetime, Plan] = {}
    for plan in known:
        if plan.period.end < period.end:
            last.setdefault(plan.period.end, plan)
    nights = 0
    for _, plan in sorted(last.items(), reverse=True):
        if plan.before is None or plan.before.worst <= trigger:
            break
        nights += 1
    return nights


def _resting(world: World, known: Sequence[Plan]) -> Iterator[Resting]:
    """The sites that stay where they are for now, by the rule that keeps them, and what they needed
    meanwhile.
    """
    now, safety = world.clock(), world.settings.safety
    month, lately = now - MONTH, now - safety.site_cooldown
    chosen = _chosen_plans(known, now)
    draining = {node.name for node in world.nodes if node.state == "draining"}
    moves = [(when, sites_that_rest_after(plan, draining), _shrunk(plan)) for plan, when in chosen]
    yield _often(moves, safety.max_moves_per_site, now, _most_replicas_needed(known, month))
    told, until = dict[str, str](), dict[str, datetime]()
    for when, moved, shrunk in moves:
        if when > lately:
            end = when + safety.site_cooldown
            told |= dict.fromkeys(
                shrunk, f"gave a node up {amounts.ago(when, now)}, rests {amounts.until_text(end)}"
            )
            told |= dict.fromkeys(
                moved, f"moved {amounts.ago(when, now)}, rests {amounts.until_text(end)}"
            )
            until |= dict.fromkeys(shrunk | moved, end)
    yield Resting(
        COOLDOWN,
        amounts.span(safety.site_cooldown),
        told,
        _most_replicas_needed(known, lately),
        until,
    )


def _often(
    moves: Sequence[tuple[datetime, set[str], set[str]]],
    most: int,
    now: datetime,
    needed: Mapping[str, int],
) -> Resting:
    """The sites that moved so often in a month, until the first of these moves is longer ago."""
    times: dict[str, list[datetime]] = {}
    for when, moved, _ in moves:
        for site in moved if when > now - MONTH else ():
            times.setdefault(site, []).append(when)
    many = {site: moments for site, moments in times.items() if len(moments) >= most}
    until = {site: moments[len(moments) - most] + MONTH for site, moments in many.items()}
    told = {
        site: f"moved {amounts.count(len(moments), 'time')} in 30 days, rests "
        f"{amounts.until_text(until[site])}"
        for site, moments in many.items()
    }
    limit = f"{most} in 30 days"
    return Resting(
        OFTEN, limit, told, {site: count for site, count in needed.items() if site in many}, until
    )


def _most_replicas_needed(known: Sequence[Plan], since: datetime) -> dict[str, int]:
    """The most replicas that any plan after then found each site to need for its load."""
    needed: dict[str, int] = {}
    for site, count in (
        pair for plan in known if plan.created > since for pair in plan.needs.items()
    ):
        needed[site] = max(count, needed.get(site, 0))
    return needed


def _chosen_plans(known: Sequence[Plan], now: datetime) -> list[tuple[Plan, datetime]]:
    """What came into force, the earliest first, and when. What a cluster was adopted with, and the
    way off a dead node, are nothing that anybody chose for the sake of balance: no site rests after
    that.
    """
    applied = [
        plan
        for plan in reversed(known)
        if plan.state == "applied" and plan.quality.solver != failover.SOLVER
    ]
    return [
        (plan, plan.settled)
        for plan in applied
        if plan.base and plan.settled and plan.settled <= now
    ]


def sites_that_rest_after(plan: Plan, draining: Collection[str]) -> set[str]:
    """Sites that left a node for another one, or got one more. Off a node that took no sites they
    had to go: they rest only while it is being drained, and may come back as soon as it is in
    service again.
    """
    closed = _nodes_without_share(plan) - set(draining)
    left = (
        move for move in plan.moves if move.source and move.target and move.source not in closed
    )
    return {*plan.grown, *(move.site for move in left)}


def _nodes_without_share(plan: Plan) -> set[str]:
    """The nodes that took no sites: a fair share of nothing is theirs."""
    return {load.node for load in plan.after.nodes if not load.fair}


def _shrunk(plan: Plan) -> set[str]:
    closed = _nodes_without_share(plan)
    return {move.site for move in plan.moves if move.target is None and move.source not in closed}


def _came(known: Sequence[Plan]) -> dict[str, dict[str, datetime]]:
    """When sites came to nodes, of those that were on others before."""
    arrivals: dict[str, dict[str, datetime]] = {}
    for plan in reversed(known):
        if plan.base and plan.settled and plan.state == "applied":
            for move in plan.moves:
                if move.target:
                    arrivals.setdefault(move.site, {})[move.target] = plan.settled
    return arrivals


def _due(world: World) -> list[str]:
    """Nodes that are down, and those whose deadline comes before the next night: they must be empty
    after this one.
    """
    soon = world.clock() + NIGHT
    return [
        order.node
        for order in world.store.node_orders()
        if order.state == "down"
        or (order.state == "draining" and order.deadline and order.deadline <= soon)
    ]


def _urgent(world: World, known: Sequence[Plan]) -> set[str]:
    """Sites with a wish that ends or begins before the next night, or did since the last one: for
    them tomorrow is too late. One that has begun stays among them until it is over.
    """
    now = world.clock()
    last, soon = min(now - NIGHT, _last_night(world, known)), now + NIGHT
    sites = set()
    for pin in world.store.pins():
        is_over = pin.until is not None and pin.until <= now
        begins = pin.since is not None and pin.since <= soon and not is_over
        if begins or (pin.until is not None and last < pin.until <= soon):
            sites.add(pin.site)
    return sites


def _last_night(world: World, known: Sequence[Plan]) -> datetime:
    """When the newest plan was made that is in force, or was; one that took out a dead node kept no
    wishes. Now where there is none.
    """
    for plan in known:
        if plan.state == "applied" and plan.quality.solver != failover.SOLVER:
            return _when_made(world, plan)
    base = world.store.in_force()
    return _when_made(world, world.store.plan(base)) if base else world.clock()


def _when_made(world: World, plan: Plan) -> datetime:
    """By the clock that this night goes by."""
    return plan.created if world.is_as_of else plan.wall_time

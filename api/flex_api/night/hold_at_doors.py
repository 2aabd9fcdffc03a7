"""Holds sites with one writer at the doors of all nodes, leads them to their new nodes, or has them
go on at the old ones.

Takes a world whose lease is held, a plan that is coming, and sites. Orders doors, waits until nodes
go by it, and returns what is so and what is not, with the reason. Each may be called again, also by
another run after this one was killed: what is so already is not ordered again.

A site is held once the node that owned it last goes by the hold and is answering nothing for it any
more. That one node is enough: whoever has not heard sends requests there, where they wait. And only
that node can know what it is still answering. Whether the new owner has heard is asked by itself:
until it has, nobody would answer.

Copies nothing, and does not decide what becomes of a site. Requests wait for as long as
routing.hold_time; whoever holds ends it, or the next one that finds it in the order.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from flex.errors import Away, BadInput
from flex.model.orders_to_doors import NOT_SAID, DoorOrder, DoorReport
from flex.model.plan import Plan
from flex.routing import host_to_node_maps, owners_map, requests_under_way
from flex.routing.haproxy_socket import Socket
from flex.routing.host_to_node_maps import MOVED
from flex.routing.owners_map import MapsInForce
from flex_api.in_words import amounts
from flex_api.night import (
    doors_behind_order,
    orders_at_doors,
    owners_by_partition,
    route_requests_by_plan,
    store_order_for_doors,
)
from flex_api.wiring import World

# Between two looks, in seconds: what a node says is in the store within as long.
_LOOK_AGAIN = 0.01
# How long one HAProxy may take for its answer, in seconds.
_PATIENCE = 2.0
NOT_STATEFUL = "it is not stateful: [routing] says which sites have one writer"
NOT_LED = "the doors do not lead to it: it is published by DNS alone, or no node has it"
# What holds a site back for good.
NEVER_HELD = (NOT_STATEFUL, NOT_LED)
ENDED = "the hold was ended meanwhile"
NOT_HELD = "its requests were not held before: its old node may still answer"


@dataclass(frozen=True, slots=True)
class SitesHeld:
    """Nobody answers for those that are `quiet`. Of the others it is said why that is not known.
    They are held by the order `since` and all behind it.
    """

    quiet: frozenset[str]
    others: Mapping[str, str]
    since: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class SitesLed:
    """The doors are to lead to these sites' nodes of now. `behind` are nodes that go by no such
    order yet, with the reason: they answer for none of the sites, and requests wait there.
    """

    sites: frozenset[str]
    others: Mapping[str, str]
    behind: Mapping[str, str]


def hold(world: World, plan: Plan, sites: Collection[str], patience: float) -> SitesHeld:
    """Has requests for these sites wait at doors, besides those that wait already, and waits for as
    many seconds until nothing of them is under way.

    Sites that could not be held in that time are held in the order all the same: `release` them.
    """
    others = _unfit(world, plan, sites)
    wanted = frozenset(sites) - others.keys()
    if not wanted:
        return SitesHeld(frozenset(), others)
    _order(world, plan, wait=wanted, hold=wanted)
    last = _last(world, plan)
    since = last.number if last else 0
    busy = _still_busy(world, plan, wanted, patience, since)
    return SitesHeld(wanted - busy.keys(), {**others, **busy}, since)


def still_held(
    world: World, plan: Plan, sites: Collection[str], since: int | None = None
) -> SitesHeld:
    """What is so at this moment; nothing is ordered. A node may go by any order from `since` on,
    where they were held by that one: other sites may be held meanwhile.
    """
    busy = _still_busy(world, plan, frozenset(sites), 0, since)
    return SitesHeld(frozenset(sites) - busy.keys(), busy, since or 0)


def switch(
    world: World, plan: Plan, sites: Collection[str], patience: float, since: int | None = None
) -> SitesLed:
    """Leads these sites to their nodes by the plan, where requests go on, and waits for nodes to
    hear of it.

    A site that is not held and quiet at this moment is not led there: two nodes could answer.
    """
    last = _last(world, plan)
    led = frozenset(sites) - last.waiting - last.held if last else frozenset[str]()
    held = still_held(world, plan, frozenset(sites) - led, since)
    if held.quiet:
        _order(world, plan, go=held.quiet, let=held.quiet)
    behind = _doors_behind(world, plan, patience)
    return SitesLed(led | held.quiet, held.others, behind)


def release(world: World, plan: Plan, sites: Collection[str], patience: float) -> SitesLed:
    """Has requests go on where these sites are now: at the old node where the plan did not lead
    them on. Waits for nodes to hear of it.
    """
    last = _last(world, plan)
    if last and not last.held.isdisjoint(sites):
        _order(world, plan, let=sites)
    return SitesLed(frozenset(sites), {}, _doors_behind(world, plan, patience))


def _last(world: World, plan: Plan) -> DoorOrder | None:
    """The newest order, where it goes by the plan."""
    last = world.store.door_order()
    return last if last and last.plan == plan.id else None


def _unfit(world: World, plan: Plan, sites: Collection[str]) -> dict[str, str]:
    """Why sites cannot be held, by site."""
    settings, store = world.settings, world.store
    stateful = settings.routing.stateful_of(sites)
    reasons = dict.fromkeys(frozenset(sites) - stateful, NOT_STATEFUL)
    _, in_force = store.placement()
    owned = set(in_force["site"]) | set(store.placement_of(plan.id)["site"])
    led = settings.routing.publishing().sites_led_by_doors(stateful & owned)
    return reasons | dict.fromkeys(stateful - led, NOT_LED)


def _order(
    world: World,
    plan: Plan,
    *,
    wait: Collection[str] = (),
    go: Collection[str] = (),
    hold: Collection[str] = (),
    let: Collection[str] = (),
) -> None:
    """What the last order says, but for these. Raises BadInput where there are no doors, and as
    `store_order_for_doors.order` does.
    """
    store, last = world.store, _last(world, plan)
    waiting = store_order_for_doors.waiting_of(store, plan.id)
    held = last.held if last else frozenset[str]()
    order = store_order_for_doors.order(
        world.settings,
        store,
        plan.id,
        waiting.union(wait).difference(go),
        held.union(hold).difference(let),
        led_on=go,
    )
    if order is None:
        raise BadInput(
            "holding sites at the doors of all nodes",
            "there are none",
            advice='say on = true and doors = "all" in [routing]',
        )
    if world.settings.routing.delivers and order != last:
        route_requests_by_plan.reroute(world, plan.id)


def _doors_behind(world: World, plan: Plan, patience: float) -> Mapping[str, str]:
    last = _last(world, plan)
    if last is None:
        return {}
    return doors_behind_order.who_has_not_heard(world, last.number, patience)


def _still_busy(
    world: World, plan: Plan, sites: frozenset[str], patience: float, since: int | None
) -> dict[str, str]:
    """Those of the sites that are not known to be quiet after so many seconds, and why."""
    names = owners_by_partition.names_of(world.settings, sites)
    deadline = time.monotonic() + patience
    while True:
        busy = _busy_now(world, plan, sites, names, since)
        if not busy or time.monotonic() >= deadline:
            return busy
        time.sleep(_LOOK_AGAIN)


def _busy_now(
    world: World, plan: Plan, sites: frozenset[str], names: Mapping[str, str], since: int | None
) -> dict[str, str]:
    last = _last(world, plan)
    if last is None:
        return dict.fromkeys(sites, NOT_HELD)
    busy = dict.fromkeys(sites - last.held, NOT_HELD)
    held = host_to_node_maps.held_names(world.store.moved_map())
    by_node: dict[str, set[str]] = {}
    for name, site in names.items():
        if site in busy:
            continue
        if name in held:
            by_node.setdefault(held[name], set()).add(name)
        elif site == name:
            # Another order took this one's place between the two questions.
            busy[site] = ENDED
    for node, its_names in sorted(by_node.items()):
        for name, why in _busy_at(world, last, node, its_names, since or last.number):
            busy.setdefault(names[name], why)
    return busy


def why_unheard(world: World, plan: Plan, node: str, since: int) -> str:
    """Why it is not known that the node goes by the plan's order `since` or a later one; empty
    where it does. Waits for nobody.
    """
    last = _last(world, plan)
    if last is None:
        return ENDED
    report = _report_of(world, node)
    if report or not world.settings.routing.sockets:
        return _unheard_by_report(world, last, node, report, since)
    try:
        maps = _maps_of(world, _socket_of(world, node))
    except Away as error:
        return error.answer
    return _unheard_by_maps(world, last, maps, since)


def unheard_at(node: str, why: str) -> str:
    """Why a site stays whose new node does not go by the order: nobody would answer for it."""
    return f"its new node {node} has not heard: {why}"


def _report_of(world: World, node: str) -> DoorReport | None:
    return next((report for report in world.store.door_reports() if report.node == node), None)


def _socket_of(world: World, node: str) -> Socket:
    return Socket(world.settings.routing.sockets.replace("{node}", node), _PATIENCE)


def _maps_of(world: World, stats: Socket) -> MapsInForce:
    folder = Path(world.settings.routing.directory)
    return owners_map.maps_in_force(stats, folder)


def _unheard_by_report(
    world: World, last: DoorOrder, node: str, report: DoorReport | None, since: int
) -> str:
    if report and _holds(report.number, report.moved, last, since):
        return ""
    states = orders_at_doors.states_against(world.settings, world.store, last.number)
    unheard = {state.node: state.unheard for state in states}
    return unheard.get(node, "it does not serve") or "it goes by another order"


def _unheard_by_maps(world: World, last: DoorOrder, maps: MapsInForce, since: int) -> str:
    """Names that are held are in the small map."""
    if not _holds(maps.order, maps.moved, last, since):
        by = f"order {maps.order}" if maps.order else "no order"
        return f"it goes by {by}"
    if maps.order < last.number:
        return ""
    entries = {MOVED: host_to_node_maps.entries(world.store.moved_map())}
    return maps.lacks(maps.large, entries)


def _busy_at(
    world: World, last: DoorOrder, node: str, names: Collection[str], since: int
) -> Iterator[tuple[str, str]]:
    """By name what the node is answering, or why that is not known."""
    report = _report_of(world, node)
    if report or not world.settings.routing.sockets:
        yield from _busy_by_report(world, last, node, report, names, since)
    else:
        yield from _busy_by_socket(world, last, node, names, since)


def _busy_by_report(
    world: World,
    last: DoorOrder,
    node: str,
    report: DoorReport | None,
    names: Collection[str],
    since: int,
) -> Iterator[tuple[str, str]]:
    if why := _unheard_by_report(world, last, node, report, since):
        yield from _each(names, _owner_unheard(node, why))
    elif report is None or report.busy_names == NOT_SAID:
        yield from _each(names, f"{node} did not say what it is still answering")
    else:
        busy = dict(report.busy)
        is_cut = report.busy_names > len(busy)
        for name in sorted(names):
            if name in busy:
                yield name, _answering_sentence(node, busy[name])
            elif is_cut:
                yield name, f"{node} is still answering more names than it says"


def _busy_by_socket(
    world: World, last: DoorOrder, node: str, names: Collection[str], since: int
) -> Iterator[tuple[str, str]]:
    """By its own words alone nobody knows whether a process of before a reload is still there: for
    as long as one may be, the node counts as busy.
    """
    stats = _socket_of(world, node)
    try:
        maps = _maps_of(world, stats)
        served = requests_under_way.served_for(stats)
        busy = requests_under_way.requests_of_process(stats, names)
    except Away as error:
        yield from _each(names, f"{node} owned it last: {error.answer}")
        return
    if why := _unheard_by_maps(world, last, maps, since):
        yield from _each(names, _owner_unheard(node, why))
    elif busy is None:
        yield from _each(names, f"{node} does not count what it is still answering")
    elif served <= world.settings.routing.hard_stop_after.total_seconds():
        why = f"HAProxy began or reloaded {served} s ago; one of before may still answer"
        yield from _each(names, f"{node}: {why}")
    else:
        for name, count in sorted(busy.items()):
            requests = amounts.count(count, "request")
            yield name, f"{node} is still answering {requests}"


def _owner_unheard(node: str, why: str) -> str:
    return f"{node} owned it last, and has not heard: {why}"


def _holds(number: int, moved: str, last: DoorOrder, since: int) -> bool:
    """Whether a node that goes by this order holds what is held since that one."""
    return (number, moved) == (last.number, last.moved) or since <= number < last.number


def _each(names: Collection[str], why: str) -> Iterator[tuple[str, str]]:
    return ((name, why) for name in sorted(names))


def _answering_sentence(node: str, count: int) -> str:
    """Nobody knows which sites a process from before a reload still answers for."""
    requests = amounts.count(count, "request")
    return f"{node} is still answering {requests}, each HAProxy from before a reload counted as one"

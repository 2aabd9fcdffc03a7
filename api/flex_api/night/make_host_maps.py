"""Who owns which host name, as the maps of all nodes' doors.

Takes the settings, the store and the plan that counts. Returns Doors. Does not write any file.
Who makes files has the store keep what is ordered, before any node hears of it: so all nodes are
given the same maps, and the store knows each order that a node can go by. Who only looks changes
nothing.

The visitors of a dead node's sites are led to nodes that serve, before a failover has changed DNS,
and also where it cannot: see `_put_on_serving_nodes`.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

import pandas as pd

from flex.frame_schemas import PLACEMENT, PROFILES, SPREADS
from flex.model.nodes import Node
from flex.model.orders_to_doors import DoorOrder, is_behind, next_number
from flex.model.period import Period
from flex.model.stranded_sites import LeftAtNode
from flex.partition import join_partitions, rows_of_other_sites, rows_of_sites, rows_on_nodes
from flex.planning import heirs_of_dead_nodes
from flex.planning.facts_and_rules import Facts
from flex.prediction.cache_replay import no_sample
from flex.routing import host_to_node_maps
from flex.routing.haproxy_frontends import Doors
from flex.routing.host_to_node_maps import NO_WRITERS, Heading, Owners, Writers, digest
from flex.store import Store
from flex.wishes.wishes_in_force_now import pins_in_force
from flex_api.night import owners_by_partition, stranded_sites, writer_nodes
from flex_api.settings.file import Settings
from flex_api.wiring import nodes, rules


@dataclass(frozen=True, slots=True)
class PartitionForMaps:
    """The sites of this plan's partition are to be on its nodes, as far as these are `serving`.
    Those that are `waiting` stay where the partition in force has them. Requests for those that are
    `held` wait at doors, as far as these sites have one writer. Of such sites only those that are
    `led_on` get another owner than they had: nobody is answering for them any more.

    While the plan is `coming` no large map is written in place of an old one: that takes seconds.
    Whoever `decides` also orders anew what nodes say they know better than the store.
    """

    known: Sequence[Node]
    serving: Collection[str]
    plan: str
    coming: bool
    decides: bool
    waiting: frozenset[str] = frozenset()
    held: frozenset[str] = frozenset()
    led_on: frozenset[str] = frozenset()


def doors(settings: Settings, store: Store, wanted: PartitionForMaps) -> Doors:
    """As they would be ordered now; nothing is."""
    _, maps = _next(settings, store, wanted, store.door_order(), store.large_map())
    return _doors(settings, wanted.known, maps)


def doors_ordered(
    settings: Settings,
    store: Store,
    wanted: PartitionForMaps,
    last: DoorOrder | None,
    now: datetime,
) -> Doors | None:
    """The same, ordered before anybody is told: whoever is told finds the order in the store.

    `last` is the newest order as it was before `wanted` was asked for. None where there is another
    one by now: what is wanted may be older than that, and is to be asked for again.
    """
    large = store.large_map()
    number, maps = _next(settings, store, wanted, last, large)
    with store.together():
        if store.door_order() != last or store.large_map_digest() != digest(large):
            return None
        if maps.large != large:
            store.put_large_map(maps.large, digest(maps.large), digest(large))
        before = last.number if last else 0
        if number != before:
            order = DoorOrder(
                number,
                wanted.plan,
                digest(maps.large),
                digest(maps.moved),
                now,
                wanted.waiting,
                wanted.held,
                _held_since(wanted, last, now),
            )
            store.put_door_order(order, maps.moved, before)
    return _doors(settings, wanted.known, maps)


def doors_without_owners(settings: Settings, known: Sequence[Node]) -> Doors:
    """Nobody owns any name by these."""
    return _doors(settings, known, Owners("", "", 0, 0))


def _doors(settings: Settings, known: Sequence[Node], maps: Owners) -> Doors:
    return Doors(maps, _addresses(known), settings.routing.has_stateful)


def _held_since(wanted: PartitionForMaps, last: DoorOrder | None, now: datetime) -> datetime | None:
    """As long as some sites of the order before are held."""
    if not wanted.held:
        return None
    goes_on = last is not None and not last.held.isdisjoint(wanted.held)
    return last.held_since if last and goes_on else now


def _next(
    settings: Settings, store: Store, wanted: PartitionForMaps, last: DoorOrder | None, large: str
) -> tuple[int, Owners]:
    """The number of the order and its maps: those of the last one where nothing else is wanted now
    than then.
    """
    placement = _put_on_serving_nodes(
        settings, store, _partition(store, wanted), wanted.serving, wanted.plan
    )
    placement = writer_nodes.keep_writers(
        settings, store, placement, wanted.serving, wanted.plan, besides=wanted.led_on
    )
    # Of a site that stays with a dead node that one is the owner, and nobody answers for it.
    having = {*wanted.serving, *placement["node"].unique()}
    owner_of = owners_by_partition.owners_of_names(settings, placement, having)
    writers = _writers(settings, owner_of, wanted.held)
    others_of = owners_by_partition.others_of_names(settings, placement, wanted.serving)
    maps = host_to_node_maps.maps_of(owner_of, large, writers, others_of)
    if maps.is_old and not wanted.coming:
        # Nodes that go by the last order have both maps that this one is made of, and need not
        # fetch it. Where they have not, they hear of the change first.
        new = host_to_node_maps.large_map_of(large, store.moved_map()) if last else ""
        again = host_to_node_maps.maps_of(owner_of, new, writers, others_of)
        maps = maps if again.is_old else again
    cluster, reports = store.installation(), store.door_reports()

    def set_number(number: int) -> Owners:
        heading = Heading(cluster, digest(maps.large), number)
        return host_to_node_maps.set_heading(maps, heading)

    is_as_last = last and (last.plan, last.waiting, last.held) == (
        wanted.plan,
        wanted.waiting,
        wanted.held,
    )
    if last and is_as_last:
        again = set_number(last.number)
        is_known = not wanted.decides or not is_behind(last, reports)
        if digest(again.moved) == last.moved and is_known:
            return last.number, again
    number = next_number(last, reports)
    return number, set_number(number)


def _put_on_serving_nodes(
    settings: Settings, store: Store, placement: pd.DataFrame, serving: Collection[str], plan: str
) -> pd.DataFrame:
    """The partition of `plan`, where every site has a node that serves: nearly always. Sites that
    people keep FLEX away from get no other node, and those whose content is at a dead node alone
    stay there, where nobody answers for them.
    """
    now = datetime.now(UTC)
    known, pins = nodes(settings, store), pins_in_force(store.pins(), now)
    content = stranded_sites.find(settings, store, known, pins, placement, plan)
    here = rows_on_nodes(placement, serving)
    if content.away:
        here = _add_left_sites(here, content.away)
    lost = set(placement["site"]) - set(here["site"])
    if not lost:
        return here
    nothing = (Period.days_before(now, 0), PROFILES.empty(), SPREADS.empty())
    period, profiles, spreads = store.profiles() or nothing
    facts = Facts(
        period,
        profiles,
        spreads,
        no_sample(),
        known,
        pins,
        store.in_force(),
        placement,
        content=content,
    )
    heirs = heirs_of_dead_nodes.heirs(facts.drop_excluded_sites(), rules(settings, pins))
    taken = heirs[heirs["site"].isin(list(lost)) & heirs["node"].isin(list(serving))]
    return join_partitions(here, taken)


def _add_left_sites(here: pd.DataFrame, away: Mapping[str, LeftAtNode]) -> pd.DataFrame:
    others = rows_of_other_sites(here, away)
    left = PLACEMENT.from_columns(
        {"site": list(away), "node": [left_site.node for left_site in away.values()]}
    )
    return join_partitions(others, left)


def _partition(store: Store, wanted: PartitionForMaps) -> pd.DataFrame:
    coming = store.placement_of(wanted.plan)
    if not wanted.waiting:
        return coming
    _, in_force = store.placement()
    stay = rows_of_sites(in_force, wanted.waiting)
    return join_partitions(rows_of_other_sites(coming, wanted.waiting), stay)


def _addresses(known: Sequence[Node]) -> set[str]:
    return {address for node in known for address in node.addresses}


def _writers(settings: Settings, owner_of: Mapping[str, str], held: Collection[str]) -> Writers:
    """The names of sites that have one writer; of these, those whose requests wait."""
    sites = settings.routing.stateful_of(owner_of)
    if not sites:
        return NO_WRITERS
    names = owners_by_partition.names_of(settings, sites)
    waiting = frozenset(name for name, site in names.items() if site in held)
    return Writers(names.keys(), waiting)

"""Which node is the one writer of a stateful site by the order that doors go by, and where a
partition has another.

Takes the settings, the store and a partition. Returns nodes by site. Changes nothing.

A partition is only a wish here: two nodes would answer where a stateful site had another owner from
one order to the next. It has one only by hold_at_doors.py, or where its owner does not serve.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

import pandas as pd

from flex.frame_schemas import PLACEMENT
from flex.model.orders_to_doors import DoorOrder
from flex.partition import (
    join_partitions,
    rows_of_other_sites,
    rows_of_sites,
    rows_on_nodes,
    site_node_pairs,
)
from flex.routing import host_to_node_maps
from flex.store import Store
from flex_api.night import owners_by_partition
from flex_api.settings.file import Settings
from flex_api.wiring import World


@dataclass(frozen=True, slots=True)
class Elsewhere:
    """The writer of now, and the one that is wanted."""

    now: str
    wanted: str


def elsewhere(
    settings: Settings, store: Store, partition: pd.DataFrame, serving: Collection[str], plan: str
) -> dict[str, Elsewhere]:
    """The stateful sites that doors lead to another node than this partition has, by site. It is
    the partition of `plan`, or the one in force. Those whose writer does not serve are among them
    only where they stay with it, as no other node has what it wrote.
    """
    if not settings.routing.has_stateful:
        return {}
    here = rows_on_nodes(partition, serving)
    wanted = owners_by_partition.node_of_sites(here)
    sites = settings.routing.stateful_of(settings.routing.publishing().sites_led_by_doors(wanted))
    now = writers_by_order(settings, store, sites, plan)
    keeping, ways = _keeping(store), settings.move.failover_of(sites)
    return {
        site: Elsewhere(now[site], wanted[site])
        for site in sorted(sites & now.keys())
        if now[site] != wanted[site]
        and (now[site] in serving or (now[site] in keeping and ways[site] != "always"))
    }


def _keeping(store: Store) -> frozenset[str]:
    """The dead nodes that nobody said of that their sites go on without what they have."""
    return frozenset(
        order.node
        for order in store.node_orders()
        if order.state == "down" and not order.without_content
    )


def elsewhere_now(world: World, partition: pd.DataFrame, plan: str) -> dict[str, Elsewhere]:
    """The same with the nodes of now, but for those that stay with a dead node on which the
    partition has them, too: they are on several nodes, and the others have not what it wrote.
    """
    serving = serving_now(world)
    ways = elsewhere(world.settings, world.store, partition, serving, plan)
    nodes = rows_of_sites(partition, ways)
    there = set(site_node_pairs(nodes))
    return {
        site: way
        for site, way in ways.items()
        if way.now in serving or (site, way.now) not in there
    }


def serving_now(world: World) -> frozenset[str]:
    return frozenset(node.name for node in world.nodes if node.addresses and node.is_serving)


def keep_writers(
    settings: Settings,
    store: Store,
    partition: pd.DataFrame,
    serving: Collection[str],
    plan: str,
    besides: Collection[str] = (),
) -> pd.DataFrame:
    """The partition with the writers that doors lead to now, but for the sites `besides`."""
    ways = elsewhere(settings, store, partition, serving, plan)
    return _set_writers(partition, {site: way for site, way in ways.items() if site not in besides})


def as_led_now(world: World, partition: pd.DataFrame, plan: str) -> pd.DataFrame:
    """The partition with the writers that doors lead to now."""
    return _set_writers(partition, elsewhere_now(world, partition, plan))


def _set_writers(partition: pd.DataFrame, kept: Mapping[str, Elsewhere]) -> pd.DataFrame:
    if not kept:
        return partition
    others = rows_of_other_sites(partition, kept)
    own = PLACEMENT.from_columns({"site": list(kept), "node": [way.now for way in kept.values()]})
    return join_partitions(others, own)


def writers_by_order(
    settings: Settings, store: Store, sites: Collection[str], plan: str
) -> dict[str, str]:
    """By site the writer, as far as the newest order knows. One that doors went by before they were
    switched off for a while knows nothing: partitions came into force without it.
    """
    last = store.door_order()
    if not sites or last is None or not _is_of_now(store, last, plan):
        return {}
    names = owners_by_partition.names_of(settings, sites)
    writers: dict[str, str] = {}
    owner_of = host_to_node_maps.owners(store.large_map(), store.moved_map(), names)
    for name, node in owner_of.items():
        # What the site itself is called counts most.
        if name == names[name]:
            writers[name] = node
        else:
            writers.setdefault(names[name], node)
    return writers


def _is_of_now(store: Store, last: DoorOrder, plan: str) -> bool:
    """Whether no partition came into force behind it but its own."""
    in_force = store.in_force()
    if last.plan in (plan, in_force):
        return True
    ordered = store.headline(last.plan)
    return ordered is not None and ordered.base == in_force

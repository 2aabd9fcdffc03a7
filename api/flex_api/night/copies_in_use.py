"""Where visitors of sites are led, by whom, and which moves are open: what must be known before a
copy of a site is removed.

Takes a world whose lease is held, and sites. Returns that. Reads DNS for these sites. Does not
remove anything.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

import pandas as pd

from flex.model.site_moves import SiteMove
from flex.partition import rows_of_sites, site_node_pairs
from flex.zones import records_of_partition
from flex.zones.records_of_partition import sets_by_name
from flex_api.moving.which_copies_may_go import Copies, Copy
from flex_api.wiring import World


def copies(world: World, sites: Collection[str], moves: Collection[SiteMove]) -> Copies:
    """Raises DnsError where a zone cannot be read: then nobody knows who is led where."""
    _, in_force = world.store.placement()
    coming = set[Copy]()
    for plan in world.store.plans(state="applying"):
        coming |= _pairs(world.store.placement_of(plan.id), sites)
    return Copies(
        in_force=_pairs(in_force, sites),
        coming=coming,
        in_dns=set(_led_by_dns(world, sites)),
        excluded={pin.site for pin in world.pins if pin.excluded},
        nodes={node.name for node in world.nodes},
        moves=tuple(moves),
    )


def _pairs(partition: pd.DataFrame, sites: Collection[str]) -> set[Copy]:
    return set(site_node_pairs(rows_of_sites(partition, sites)))


def _led_by_dns(world: World, sites: Collection[str]) -> Iterator[Copy]:
    node_of = {address: node.name for node in world.nodes for address in node.addresses}
    zones = world.settings.dns.every_zone
    if not zones or not sites:
        return
    of_zone, _ = records_of_partition.split(sorted(sites), zones)
    for zone, ours in of_zone.items():
        if not ours:
            continue
        names = {records_of_partition.name_of(site): site for site in ours}
        records = sets_by_name(world.publisher.read(zone, list(names)).records)
        for (name, _), (_, values) in records.items():
            for address in values:
                if name in names and address in node_of:
                    yield names[name], node_of[address]

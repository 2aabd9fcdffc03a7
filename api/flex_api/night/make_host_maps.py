"""Who owns which host name, as the maps of all nodes' doors.

Takes the settings, the store and the placement that counts. Returns Doors. Does not write any file.
Who makes files has the store keep the large map, so that all nodes are given the same one. Who only
looks changes nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from zlib import crc32

import pandas as pd

from flex.model.nodes import Node
from flex.ports import Store
from flex.routing import host_to_node_maps
from flex.routing.haproxy_frontends import Doors
from flex.routing.host_to_node_maps import Owners
from flex.routing.pool import is_host
from flex.table_schemas import texts
from flex_api.night import site_names_to_route
from flex_api.settings.file import Settings


def doors(
    settings: Settings,
    store: Store,
    known: Sequence[Node],
    serving: Collection[str],
    placement: pd.DataFrame,
) -> Doors:
    """By the placement, among the nodes that are `serving`, with the large map that is kept."""
    owner_of = owners_of_names(settings, placement, serving)
    maps = host_to_node_maps.maps_of(owner_of, store.large_map())
    return Doors(maps, _addresses(known))


def doors_for_files(
    settings: Settings,
    store: Store,
    known: Sequence[Node],
    serving: Collection[str],
    placement: pd.DataFrame,
    *,
    coming: bool,
) -> Doors:
    """Likewise, and a large map that is new is kept. For a placement that is `coming` none is
    written in place of an old one, as that takes seconds.
    """
    owner_of = owners_of_names(settings, placement, serving)
    return Doors(_kept_maps(store, owner_of, coming=coming), _addresses(known))


def _addresses(known: Sequence[Node]) -> set[str]:
    return {address for node in known for address in node.addresses}


def owners_of_names(
    settings: Settings, placement: pd.DataFrame, serving: Collection[str]
) -> dict[str, str]:
    """By host name the node that answers for it. Of several nodes of a site it is one by a hash of
    the site, so that all doors mean the same.

    A name whose site is on no node that serves is left out, and so is what no host can be called.
    """
    here = placement[placement["node"].isin(list(serving))]
    owner: dict[str, str] = {}
    counts = Counter(texts(here["site"]))
    turn: Counter[str] = Counter()
    for site, node in sorted(
        zip(texts(here["site"]), texts(here["node"]), strict=True)
    ):
        if turn[site] == crc32(site.encode()) % counts[site]:
            owner[site] = node
        turn[site] += 1
    names = site_names_to_route.other_names(settings, owner)
    found = {
        name: node for site, node in owner.items() for name in (site, *names[site])
    }
    return {name: node for name, node in found.items() if is_host(name)}


def _kept_maps(store: Store, owner_of: Mapping[str, str], *, coming: bool) -> Owners:
    """Where somebody else writes the large map anew at the same time, that one counts."""
    while True:
        large = store.large_map()
        made = host_to_node_maps.maps_of(owner_of, large)
        if made.is_old and not coming:
            made = host_to_node_maps.maps_of(owner_of)
        if made.large == large or store.put_large_map(
            made.large,
            host_to_node_maps.digest(made.large),
            host_to_node_maps.digest(large),
        ):
            return made

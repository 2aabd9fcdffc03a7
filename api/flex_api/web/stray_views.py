"""Which sites have visitors at nodes without them, and which are outside DNS, for lists, pages and
metrics.

Takes a desk. Returns what the store knows of the doors. Asks no node: cached_haproxy_state.py does.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np

from flex.model.stray_requests import DoorRead, Visitors
from flex_api.facts import visitors_at_other_nodes
from flex_api.night import haproxy_pools_and_files
from flex_api.other_names_in_settings import rule_despite_faults
from flex_api.web.request_context import Desk
from flex_api.wiring import nodes


@dataclass(frozen=True, slots=True)
class AtDoors:
    """Most requests first. At the doors of the nodes `not_known` sites may have visitors that
    nobody knows of.
    """

    visitors: tuple[Visitors, ...] = ()
    doors: tuple[DoorRead, ...] = ()
    not_known: tuple[str, ...] = ()


def visitors_at_doors(desk: Desk) -> AtDoors:
    """Empty without doors for all sites."""
    if not desk.settings.routing.leads_to_all:
        return AtDoors()
    settings, store = desk.settings, desk.house.store
    serving = list(haproxy_pools_and_files.addresses(nodes(settings, store)))
    doors = tuple(door for door in store.doors_read() if door.node in serving)
    # Each reading has its time, and no entry of the audit log tells of it.
    state = hash(tuple((door.node, door.read) for door in doors))
    visitors = desk.views.few(f"visitors {state}", lambda: _visitors(desk), len)
    unknown = visitors_at_other_nodes.not_known(doors, serving, desk.now)
    return AtDoors(visitors, doors, tuple(unknown))


def _visitors(desk: Desk) -> tuple[Visitors, ...]:
    catalogue = desk.views.catalogue()
    naming = rule_despite_faults(desk.settings.ingest).naming()

    def nodes_of(site: str) -> Collection[str]:
        row = catalogue.row_of(site)
        return () if row is None else catalogue.nodes_of(row)

    return tuple(
        visitors_at_other_nodes.visitors(
            desk.house.store.strays(), lambda name: naming(name.encode()), nodes_of
        )
    )


def outside_dns(desk: Desk) -> list[str]:
    return desk.views.get_or_make("outside-dns", lambda: _outside_dns(desk))


def _outside_dns(desk: Desk) -> list[str]:
    if not desk.settings.routing.leads_to_all:
        return []
    catalogue = desk.views.catalogue()
    placed = catalogue.sites[np.diff(catalogue.first) > 0].astype(str).tolist()
    return visitors_at_other_nodes.outside_dns(desk.settings, placed)

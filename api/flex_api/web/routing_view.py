"""How requests are routed, for lists, pages, metrics and nodes that fetch their files. It is worked
out once for each state of the store and the settings.

Takes a desk, and the plan that is coming, if any. Returns the routing. Does not know what HAProxy
does now: cached_haproxy_state.py asks.
"""

from __future__ import annotations

from dataclasses import dataclass

from flex.model.door_order import DoorOrder
from flex.routing import haproxy, host_to_node_maps
from flex.routing.host_to_node_maps import OWNERS
from flex_api.night import (
    haproxy_pools_and_files,
    plan_to_route_by,
    store_order_for_doors,
)
from flex_api.night.haproxy_pools_and_files import RoutedPools
from flex_api.night.plan_to_route_by import Between
from flex_api.night.routing_settings_without_effect import misnamed_sites
from flex_api.web.request_context import Desk

# As much memory as a pool takes.
ROWS_A_POOL = 10


@dataclass(frozen=True, slots=True)
class RoutingView:
    """All pools, and by node the version of the files that it is to have."""

    routed: RoutedPools
    versions: dict[str, str]


def routing_of(desk: Desk, coming: str = "") -> RoutingView:
    which = (
        _which(desk, coming)
        if coming
        else _following(desk, desk.house.store.door_order())
    )
    return desk.views.few(
        f"routed {_state(desk, which)} {_doors_state(desk, which)}",
        lambda: _routing_of(desk, which),
        _rows,
    )


def _routing_of(desk: Desk, which: Between) -> RoutingView:
    settings, store = desk.settings, desk.house.store
    waiting = store_order_for_doors.led_as_before(settings, store, which)
    found = haproxy_pools_and_files.routing_of(settings, store, which, waiting)
    return RoutingView(
        found, haproxy_pools_and_files.versions(settings, store, found.pools, which)
    )


def _rows(made: RoutingView) -> int:
    return ROWS_A_POOL * len(made.routed.pools)


def files(desk: Desk, node: str) -> dict[str, str]:
    """The files of one node. Raises Unknown."""
    settings, store = desk.settings, desk.house.store
    haproxy_pools_and_files.refuse_away(settings, store, node)
    which = _following(desk, store.door_order())
    make = desk.views.few(
        f"files {_state(desk, which)} {_doors_state(desk, which)}",
        lambda: haproxy_pools_and_files.maker(
            settings, store, lambda last: _following(desk, last)
        ),
        lambda made: ROWS_A_POOL * len(made.pools),
    )
    return make(node)


def others_digest(desk: Desk, node: str) -> str:
    """What the node's files are but for the small map of owners. Raises Unknown.

    No owner is looked up for it, which would take seconds where there are a million.
    """
    settings, store = desk.settings, desk.house.store
    haproxy_pools_and_files.refuse_away(settings, store, node)
    last = store.door_order()
    which = _following(desk, last)
    waiting = store_order_for_doors.led_as_before(settings, store, which, last)
    make = desk.views.few(
        f"frames {_state(desk, which)} {hash(waiting)}",
        lambda: haproxy_pools_and_files.maker_without_owners(
            settings, store, which, waiting
        ),
        lambda made: ROWS_A_POOL * len(made.pools),
    )
    made = make(node)
    if OWNERS in made:
        large = last.large if last else store.large_map_digest()
        made[OWNERS] = f"{host_to_node_maps.DIGEST} {large}\n"
    return haproxy.others_digest(made)


def wrong_names(desk: Desk) -> list[str]:
    return desk.views.of(
        "misnamed", lambda: misnamed_sites(desk.settings, desk.house.store)
    )


def _which(desk: Desk, coming: str = "") -> Between:
    return plan_to_route_by.between(
        desk.settings,
        desk.house.store.in_force(),
        desk.views.headlines(),
        desk.now,
        coming,
    )


def _following(desk: Desk, last: DoorOrder | None) -> Between:
    """Who asks decides nothing."""
    return plan_to_route_by.as_ordered(_which(desk), last, desk.views.headlines())


def _state(desk: Desk, which: Between) -> str:
    """What it is made from, as far as no note tells."""
    listed = desk.settings.ingest.sites_file
    written = listed.stat().st_mtime_ns if listed and listed.exists() else 0
    slots = frozenset(
        (site, *sorted(given.items()))
        for site, given in desk.house.store.slots().items()
    )
    return f"{which.wanted} {which.before} {written} {hash(slots)}"


def _doors_state(desk: Desk, which: Between) -> str:
    large = desk.house.store.large_map_digest()
    last = desk.house.store.door_order()
    return f"{which.doors} {large} {last.number if last else 0}"

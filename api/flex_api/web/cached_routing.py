"""How requests are routed, for lists, pages, metrics and nodes that fetch their files. It is worked
out once for each state of the store and the settings.

Takes a desk, and the plan that is coming, if any. Returns the routing. Does not know what HAProxy
does now: cached_haproxy_state.py asks.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from flex.model.orders_to_doors import DoorOrder
from flex.routing import haproxy, host_to_node_maps
from flex.routing.host_to_node_maps import OWNERS
from flex_api.night import haproxy_pools_and_files, plan_to_route_by
from flex_api.night.haproxy_pools_and_files import RoutedPools
from flex_api.night.plan_to_route_by import Between
from flex_api.night.unused_routing import misnamed_sites
from flex_api.web.request_context import Desk

# As much memory as a pool takes.
ROWS_A_POOL = 10


@dataclass(frozen=True, slots=True)
class RoutingView:
    """All pools, and by node the version of the files that it is to have."""

    routed: RoutedPools
    versions: dict[str, str]


def routing_of(desk: Desk, coming: str = "") -> RoutingView:
    last = desk.house.store.door_order()
    which = _which(desk, coming) if coming else _following(desk, last)
    several = which if coming else _choose_pool_plans(desk, which, last)
    return desk.views.few(
        f"routed {_state(desk, which, several)} {_doors_state(desk, which)}",
        lambda: _routing_of(desk, which, several),
        _rows,
    )


def _routing_of(desk: Desk, which: Between, several: Between) -> RoutingView:
    settings, store = desk.settings, desk.house.store
    routed_pools = haproxy_pools_and_files.routing_of(settings, store, several)
    return RoutingView(
        routed_pools, haproxy_pools_and_files.versions(settings, store, routed_pools.pools, which)
    )


def _rows(view: RoutingView) -> int:
    return ROWS_A_POOL * len(view.routed.pools)


def files(desk: Desk, node: str) -> dict[str, str]:
    """The files of one node. Raises Unknown."""
    settings, store = desk.settings, desk.house.store
    haproxy_pools_and_files.refuse_away(settings, store, node)
    last = store.door_order()
    which = _following(desk, last)
    several = _choose_pool_plans(desk, which, last)
    make = desk.views.few(
        f"files {_state(desk, which, several)} {_doors_state(desk, which)}",
        lambda: haproxy_pools_and_files.maker(settings, store, lambda last: _following(desk, last)),
        lambda maker: ROWS_A_POOL * len(maker.pools),
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
    several = _choose_pool_plans(desk, which, last)
    make = desk.views.few(
        f"frames {_state(desk, which, several)}",
        lambda: haproxy_pools_and_files.maker_without_owners(settings, store, which, several),
        lambda maker: ROWS_A_POOL * len(maker.pools),
    )
    large = last.large if last else store.large_map_digest()
    return digest_of_others(make(node), large)


def digest_of_others(files: Mapping[str, str], large: str) -> str:
    """What the files are called; of the large map its digest is enough."""
    line = {OWNERS: f"{host_to_node_maps.DIGEST} {large}\n"} if OWNERS in files else {}
    return haproxy.others_digest({**files, **line})


def wrong_names(desk: Desk) -> list[str]:
    return desk.views.get_or_make(
        "misnamed", lambda: misnamed_sites(desk.settings, desk.house.store)
    )


def _which(desk: Desk, coming: str = "") -> Between:
    # In this order, as `plans_at_present` has it.
    known, base = desk.views.headlines(), desk.house.store.in_force()
    return plan_to_route_by.choose_plans(desk.settings, base, known, desk.now, coming)


def _following(desk: Desk, last: DoorOrder | None) -> Between:
    """Who asks decides nothing."""
    return plan_to_route_by.as_ordered(_which(desk), last, desk.views.headlines())


def _choose_pool_plans(desk: Desk, which: Between, last: DoorOrder | None) -> Between:
    known = desk.views.headlines()
    return plan_to_route_by.plans_of_pools(desk.settings, which, last, known)


def _state(desk: Desk, which: Between, several: Between) -> str:
    """What it is made from, as far as no note tells."""
    listed = desk.settings.ingest.sites_file
    written = listed.stat().st_mtime_ns if listed and listed.exists() else 0
    slots = frozenset(
        (site, *sorted(given.items())) for site, given in desk.house.store.slots().items()
    )
    between = f"{which.wanted} {which.before} {several.wanted} {several.before}"
    return f"{between} {written} {hash(slots)}"


def _doors_state(desk: Desk, which: Between) -> str:
    large = desk.house.store.large_map_digest()
    last = desk.house.store.door_order()
    return f"{which.doors} {large} {last.number if last else 0}"

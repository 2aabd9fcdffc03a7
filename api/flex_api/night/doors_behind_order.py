"""Which nodes' doors do not go by an order yet, and why.

Takes a world and the number of the order. Returns the nodes with the reason. A node is asked over
its HAProxy's socket where the settings have one, else it counts what it last said of itself. Waits
for a while, and changes nothing.
"""

from __future__ import annotations

import time
from collections.abc import Collection
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from flex.errors import Away
from flex.routing import host_to_node_maps, owners_map
from flex.routing.haproxy_socket import Socket
from flex.routing.host_to_node_maps import MOVED, OWNERS
from flex.routing.owners_map import MapsInForce
from flex_api.night import haproxy_pools_and_files, orders_at_doors
from flex_api.wiring import World

# Nodes that are asked at a time.
_SIDE_BY_SIDE = 32
# How long one HAProxy may take for its answer, in seconds: one that is well takes milliseconds.
_PATIENCE = 2.0
# Between two looks, in seconds: a door that hears at once is seen within that.
_LOOK_AGAIN = 0.02


def who_has_not_heard(
    world: World, number: int, patience: float, delivered: Collection[str] = ()
) -> dict[str, str]:
    """The nodes that serve and do not go by this order or a later one after `patience` seconds.

    Nodes that files were `delivered` to are asked only where there is a socket. Where no node ever
    said what it goes by, and there is no socket, nobody can be asked: then none is named.
    """
    serving = set(haproxy_pools_and_files.addresses(world.nodes))
    has_sockets = bool(world.settings.routing.sockets)
    look = _ask_sockets if has_sockets else _compare_reports
    if not has_sockets:
        serving -= set(delivered)
    deadline = time.monotonic() + patience
    while True:
        behind = look(world, number, serving)
        if not behind or time.monotonic() >= deadline:
            return behind
        time.sleep(_LOOK_AGAIN)


def is_known(world: World) -> bool:
    """Whether any node ever said by which order it goes, or can be asked."""
    return bool(world.settings.routing.sockets or world.store.door_reports())


def _compare_reports(world: World, number: int, serving: Collection[str]) -> dict[str, str]:
    if not world.store.door_reports():
        return {}
    states = orders_at_doors.states_against(world.settings, world.store, number)
    return {
        state.node: state.unheard
        for state in sorted(states, key=lambda state: state.node)
        if state.unheard and state.node in serving
    }


def _ask_sockets(world: World, number: int, serving: Collection[str]) -> dict[str, str]:
    routing, folder = world.settings.routing, Path(world.settings.routing.directory)
    cluster, last = world.store.installation(), world.store.door_order()
    newest = (last.number, last.moved) if last else (0, "")
    # By node that goes by the newest order.
    maps_of: dict[str, MapsInForce] = {}

    def ask(node: str) -> str:
        stats = Socket(routing.sockets.replace("{node}", node), _PATIENCE)
        try:
            maps = owners_map.maps_in_force(stats, folder)
        except Away as error:
            return error.answer
        goes = maps.order
        if goes and maps.cluster != cluster:
            return f"it goes by order {goes} of another cluster"
        if goes > newest[0] or (goes == newest[0] and maps.moved != newest[1]):
            return orders_at_doors.unknown_order(goes)
        if last and goes == last.number:
            maps_of[node] = maps
        by = f"order {goes}" if goes else "no order"
        return "" if goes >= number else f"it goes by {by}, not by order {number}"

    nodes = sorted(serving)
    with ThreadPoolExecutor(_SIDE_BY_SIDE) as side_by_side:
        behind = {
            node: why for node, why in zip(nodes, side_by_side.map(ask, nodes), strict=True) if why
        }
    if behind or not last:
        return behind
    # The large map may be of a million names: it is looked at once all have heard.
    store = world.store
    entries = {
        MOVED: host_to_node_maps.entries(store.moved_map()),
        OWNERS: host_to_node_maps.entries(store.large_map()),
    }
    lacks = {node: maps.lacks(last.large, entries) for node, maps in sorted(maps_of.items())}
    return {node: why for node, why in lacks.items() if why}

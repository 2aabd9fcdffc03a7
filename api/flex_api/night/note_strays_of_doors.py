"""Reads from the HAProxy of each node which requests for sites of other nodes came to it, and has
the store keep that.

Takes the settings, the store and the time. Asks each node once a minute at most, however many look.
A node that does not answer keeps what it said before. Where nodes cannot be asked from here, those
that follow report by themselves.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import datetime, timedelta
from functools import partial

from flex.errors import FlexError
from flex.model.stray_requests import StrayReading
from flex.routing import haproxy_socket, read_strays
from flex.routing.haproxy_socket import Socket
from flex.store import Store
from flex_api.night import ask_every_haproxy, haproxy_pools_and_files
from flex_api.settings.file import Settings
from flex_api.wiring import nodes

# The time after which a node is asked again. A guess: an operator looks at days.
EVERY = timedelta(minutes=1)
# Seconds. 100,000 names are read within one; whoever looks does not wait for a silent node longer.
PATIENCE = 5.0
# Nodes that are asked at a time. A guess.
_SIDE_BY_SIDE = 32


def note_strays(settings: Settings, store: Store, now: datetime) -> None:
    """Raises nothing for a node or a store that is away: a later look reads more."""
    if not settings.routing.leads_to_all:
        return
    read = {door.node: door.read for door in store.doors_read()}
    serving = list(haproxy_pools_and_files.addresses(nodes(settings, store)))
    due = [node for node in serving if node not in read or now - read[node] >= EVERY]
    sockets = ask_every_haproxy.sockets_of(settings, due, PATIENCE) if due else {}
    with ThreadPoolExecutor(min(_SIDE_BY_SIDE, len(sockets) or 1)) as side_by_side:
        ask = partial(_read, due)
        told = list(side_by_side.map(ask, sockets, sockets.values()))
    for node, reading in told:
        if reading is not None:
            with suppress(FlexError):
                store.note_strays(node, reading, now)


def _read(due: Sequence[str], node: str, socket: Socket) -> tuple[str, StrayReading | None]:
    """This machine's own HAProxy says itself whose it is."""
    with suppress(FlexError):
        node = node or haproxy_socket.parse_node_name(socket.ask("show", "info"))
        if node in due:
            return node, read_strays.strays(socket)
    return node, None

"""Whether a node answers: one probe of one address.

Takes a probe as the settings write it, `tcp:80` or `http:80/path`, and an address. Returns yes or
no. Does not raise an error.
"""

from __future__ import annotations

import http.client
import socket
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from itertools import product

from flex.model.nodes import Node
from flex_api.settings.health_watch_settings import PROBE

# Probes on their way at a time.
SIDE_BY_SIDE = 64


def answers(nodes: Sequence[Node], probes: Sequence[str], timeout: float) -> dict[str, list[bool]]:
    """For each node, whether each probe of each of its addresses is answered."""
    targets = [
        (node.name, address, probe)
        for node in nodes
        for address, probe in product(node.addresses, probes)
    ]
    with ThreadPoolExecutor(SIDE_BY_SIDE) as threads:
        replies = threads.map(lambda target: is_answered(target[1], target[2], timeout), targets)
        by_node: dict[str, list[bool]] = {node.name: [] for node in nodes}
        for (node, _, _), answered in zip(targets, replies, strict=True):
            by_node[node].append(answered)
    return by_node


def is_answered(address: str, probe: str, timeout: float) -> bool:
    """TCP: somebody takes the connection. HTTP: whatever answers there is no failure of the server
    (5xx).
    """
    wanted = PROBE.fullmatch(probe)
    assert wanted is not None, "the settings take no other"
    try:
        with socket.create_connection((address, int(wanted["port"])), timeout) as connection:
            return wanted["kind"] == "tcp" or _serves(
                connection, address, wanted["path"] or "/", timeout
            )
    except (OSError, http.client.HTTPException):
        return False


def _serves(connection: socket.socket, address: str, path: str, timeout: float) -> bool:
    with closing(http.client.HTTPConnection(address, timeout=timeout)) as client:
        client.sock = connection
        client.request("GET", path, headers={"User-Agent": "flex-health"})
        return client.getresponse().status < 500

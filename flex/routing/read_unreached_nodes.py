"""Which other nodes a node's HAProxy does not reach, at which ports.

Takes the answer to `show stat`. Returns each with the setting that names the port, and with what
HAProxy's last check came to. Does not ask anybody.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from flex.routing.haproxy_doors_by_sni import TLS
from flex.routing.haproxy_member_tls import MEMBERS
from flex.routing.haproxy_socket import BackendServer
from flex.routing.host_to_node_maps import ANY_DOOR


@dataclass(frozen=True, slots=True)
class Unreached:
    node: str
    setting: str
    check: str


def unreached_nodes(rows: Iterable[BackendServer]) -> Iterator[Unreached]:
    """Those that it counts as down. One that people took out of service is none of them."""
    for row in rows:
        if row.status.startswith("DOWN") and (node_port := _what(row)):
            yield Unreached(*node_port, row.check)


def _what(row: BackendServer) -> tuple[str, str] | None:
    """The node that this server is, and the setting that names its port."""
    backend, server = row.backend, row.server
    if backend == MEMBERS and server != "BACKEND":
        return server, "member_port"
    if backend.startswith(ANY_DOOR) and server == "inner":
        return backend.removeprefix(ANY_DOOR), "inner_port"
    if backend.startswith(f"{TLS}{ANY_DOOR}") and server == "tls":
        return backend.removeprefix(f"{TLS}{ANY_DOOR}"), "origin_tls_port"
    return None

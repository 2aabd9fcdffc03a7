"""Where each node's own web server is asked for a site, and not the door in front of it, which
would pass the question on to the node that has the site now.

Takes settings and nodes. Returns addresses and ports. Does not look whether anybody listens.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from flex.model.nodes import Node
from flex_api.moving.ask_web_server import At
from flex_api.moving.trust_in_certificates import Trust
from flex_api.settings.file import Settings

# The ports of HTTP and HTTPS where no setting names others (RFC 9110, section 4.2).
_WEB = 80
_WEB_TLS = 443
_PORT = re.compile(r":([0-9]{1,5})(?:-[0-9]{1,5})?$")


@dataclass(frozen=True, slots=True)
class Ways:
    """With `tls_at_doors` the door ends TLS: its certificate counts, and its answer would come from
    elsewhere. Where `tls_may_lack` no setting speaks of TLS, but web servers may have it by
    themselves.
    """

    port: int
    tls_port: int
    proxied: bool = False
    tls_proxied: bool = False
    tls_at_doors: bool = False
    tls_may_lack: bool = False

    def plain(self, node: str, address: str) -> At:
        return At(node, address, self.port, self.proxied)

    def tls(self, node: str, address: str, trust: Trust) -> At:
        return At(node, address, self.tls_port, self.tls_proxied, trust)


def ways(settings: Settings) -> Ways:
    ready, routing = settings.move.ready, settings.routing
    if not routing.on:
        return Ways(ready.port or _WEB, ready.tls_port or _WEB_TLS)
    proxied = routing.proxy_protocol
    port = ready.port or routing.origin_port
    own = proxied and not ready.port
    if ready.tls_port or routing.bypass:
        return Ways(port, ready.tls_port or _WEB_TLS, own)
    if routing.listen_sni:
        return Ways(port, routing.origin_tls_port, own, tls_proxied=proxied)
    at_doors = _port_of(routing.listen_tls)
    if at_doors is None:
        return Ways(port, _WEB_TLS, own, tls_may_lack=True)
    return Ways(port, at_doors, own, tls_at_doors=True)


def _port_of(listened: Sequence[str]) -> int | None:
    matches = (_PORT.search(where) for where in listened)
    return next((int(match[1]) for match in matches if match), None)


def addresses(nodes: Sequence[Node]) -> dict[str, str]:
    """Those of nodes that are not down: the first address of each."""
    return {node.name: node.addresses[0] for node in nodes if node.addresses and node.is_serving}


def addresses_of_other_family(nodes: Sequence[Node]) -> dict[str, str]:
    """The first address of the family that a node's first one is not of, for nodes with both."""
    found: dict[str, str] = {}
    for node in filter(lambda node: node.addresses and node.is_serving, nodes):
        first = ":" in node.addresses[0]
        if others := [address for address in node.addresses if (":" in address) != first]:
            found[node.name] = others[0]
    return found

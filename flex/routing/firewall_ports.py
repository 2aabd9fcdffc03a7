"""Which ports of the nodes must be open to the other nodes, and to nobody else.

Takes the Layout of their machines, and whether doors lead to all sites. Returns each port with the
setting that names it, and what nodes do there. Does not look at any machine or firewall.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from flex.routing.ports_and_paths import Layout


@dataclass(frozen=True, slots=True)
class PortBetweenNodes:
    """`setting` is a key of [routing]. `authenticates`: whoever has no certificate of the nodes' CA
    gets nothing there.
    """

    port: int
    setting: str
    purpose: str
    authenticates: bool


def ports_between_nodes(layout: Layout, *, to_all_sites: bool) -> Iterator[PortBetweenNodes]:
    by_tls = bool(layout.inner_certificate)
    yield PortBetweenNodes(
        layout.peers_port,
        "peers_port",
        "distributors tell each other which member has what",
        by_tls,
    )
    if by_tls:
        yield PortBetweenNodes(
            layout.member_port,
            "member_port",
            "members of a site on several nodes pass its requests to each other",
            by_tls,
        )
    else:
        yield PortBetweenNodes(
            layout.origin_port,
            "origin_port",
            "members of a site on several nodes ask each other's web servers",
            by_tls,
        )
    if to_all_sites:
        yield PortBetweenNodes(
            layout.inner_port,
            "inner_port",
            "doors pass requests to the node that has the site",
            by_tls,
        )
    if layout.listen_sni:
        yield PortBetweenNodes(
            layout.origin_tls_port,
            "origin_tls_port",
            "doors pass on connections whose TLS the web servers end",
            authenticates=False,
        )

"""How the members of a replicated site reach each other by TLS: at a door of their own, which leads
to the web server behind it and nowhere else.

Takes a node, the addresses of the others and the Layout of its machine. Returns lines of HAProxy's
configuration. Does not choose a member: the pool that asks has done that. Without certificates of
the nodes there is nothing of this, and members are reached at their web servers.

Why it is not the inner door: that one knows pools, so what a pool sends to a member could go on to
another one.
"""

from __future__ import annotations

from collections.abc import Mapping

from flex.routing.haproxy_frontends import (
    CHECKED_HOST,
    NEIGHBOURS,
    VISITOR,
    asks_to_be_checked,
    checks_by_answer,
    tls_between_nodes,
)
from flex.routing.ports_and_paths import Layout, endpoint

# The backend by which a node sees how the members at other nodes are.
MEMBERS = "members"
_HERE = "member_here"


def sections(
    address: str, others: Mapping[str, str], server_here: str, layout: Layout
) -> list[list[str]]:
    """The door at this node's address; what is behind it, which is this server; and the members at
    `others`, by node their addresses.
    """
    check = " check inter 1s fall 2 rise 2"
    is_well = f"{{ nbsrv({_HERE}) gt 0 }}"
    is_check = f"{{ req.hdr(host) {CHECKED_HOST} }}"
    by_answer = checks_by_answer(layout)
    answered = f"http-request return status 200 if {is_check} {is_well}"
    return [
        [
            f"frontend {MEMBERS}_door",
            f"bind {endpoint(address, layout.member_port)}{tls_between_nodes(layout)}",
            f"tcp-request connection reject unless {{ src -f {layout.directory}/{NEIGHBOURS} }}",
            "option splice-response",
            "option idle-close-on-response",
            *([answered] if by_answer else []),
            f"http-request set-src req.hdr_ip({VISITOR})",
            f"http-request del-header {VISITOR}",
            f"default_backend {_HERE}",
        ],
        [f"backend {_HERE}", f"{server_here}{check if by_answer else ''}"],
        [
            f"backend {MEMBERS}",
            *(asks_to_be_checked() if by_answer else []),
            *(
                f"server {node} {''.join(way(node, others[node], layout)[:2])}{check}"
                for node in sorted(others)
            ),
        ],
    ]


def lines_of_pool() -> list[str]:
    """Before all rules: whoever answers hears of the visitor, and what that one says is dropped."""
    return [
        "http-reuse aggressive",
        "option splice-response",
        f"http-request set-header {VISITOR} %[src]",
    ]


def way(node: str, address: str, layout: Layout) -> tuple[str, str, str]:
    """Where a member at another node is reached, by TLS, and how it is seen whether it is well."""
    at = endpoint(address, layout.member_port)
    return at, tls_between_nodes(layout), f" track {MEMBERS}/{node}"


def peers(node: str, addresses: Mapping[str, str], layout: Layout) -> list[str]:
    """Distributors tell each other by TLS, too. The one of this node listens, and is told its own
    tables by the process before a reload.
    """
    tls = tls_between_nodes(layout)
    return [
        f"default-server{tls}",
        f"bind {endpoint(addresses[node], layout.peers_port)}{tls}",
        *(
            f"server {name}"
            if name == node
            else f"server {name} {endpoint(addresses[name], layout.peers_port)}"
            for name in sorted(addresses)
        ),
    ]

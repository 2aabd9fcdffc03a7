"""Where a node's doors lead to when the owner that the maps name does not answer, and this node has
not the content of all sites: to another node that has the site, where it is on several.

Takes the nodes and the Layout of their machines. Returns lines of HAProxy's configuration. Does not
know which site is on which nodes: the maps say that, see host_to_node_maps.py.

Why no request goes around in circles: it comes here because HAProxy counts a node as down, and goes
on to one that it counts as up. Where that one takes no connection either, it comes here again once
that is down, too.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from flex.routing import haproxy_frontends, haproxy_globals
from flex.routing.haproxy_frontends import VISITOR, around_socket, inner_door_of
from flex.routing.host_to_node_maps import MOVED, OTHERS, OWNERS, node_backend
from flex.routing.ports_and_paths import Layout

# Before the name of a backend: the same without a way around, so that HAProxy says whether the node
# itself is up.
UP = "up_"
_MEMBER = "var(txn.member)"
_FOUND = f"{{ {_MEMBER} -m found }}"


def sections(
    node: str, addresses: Mapping[str, str], own: list[str], layout: Layout
) -> Iterator[list[str]]:
    """Where requests come in whose owner is away, and what says of each node whether it is up; of
    this node its `own` server.
    """
    if layout.content == "everywhere":
        return
    is_up = up_condition()
    yield [
        "frontend around",
        f"bind {around_socket(layout)} accept-proxy",
        f"http-request del-header {VISITOR}",
        f"http-request set-var(txn.host) {haproxy_frontends.HOST}",
        *searching_lines("http-request", "var(txn.host)", is_up, layout),
        # Where none is up, HAProxy has no backend, and says 503.
        f"use_backend %[{_MEMBER}] if {is_up}",
    ]
    for name in sorted(addresses):
        server = f"{inner_door_of(addresses[name], layout)} track {node_backend(name)}/inner"
        yield [f"backend {UP}{node_backend(name)}", *(own if name == node else [server])]


def up_condition(prefix: str = "") -> str:
    """Whether the member that was found is up, or this process ends and cannot know. Names of
    backends may begin with a prefix.
    """
    return f"{{ str({prefix}{UP}),concat(,txn.member),nbsrv gt 0 }} or {haproxy_globals.ENDS}"


def searching_lines(rule: str, name: str, is_up: str, layout: Layout) -> Iterator[str]:
    """Puts the first of the other members that is up into txn.member."""
    small, large = (f"{layout.directory}/{each}" for each in (MOVED, OWNERS))
    set_member = f"{rule} set-var(txn.member)"
    for number in OTHERS:
        key = f"{name},concat(:{number})"
        yield f"{rule} unset-var(txn.member) unless {is_up}"
        yield f"{set_member} {key},map_str({small}) unless {_FOUND}"
        yield f"{set_member} {key},map_str({large}) unless {_FOUND}"

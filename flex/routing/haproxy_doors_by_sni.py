"""What a node's HAProxy does with connections whose TLS ends at web servers: it finds the owner by
the name in the visitor's first message (SNI), and passes on what it cannot read.

Takes the nodes and the Layout of their machines. Returns lines of HAProxy's configuration. Does not
know which site is on which node: the same maps say that as for requests, see host_to_node_maps.py.

Why no connection goes around in circles: it is passed to the web server of the owner itself, which
passes nothing on. Layout refuses a port of web servers at which doors listen. So a connection
passes one door, even where the maps of two nodes contradict each other.

A connection has one name and goes to one node for as long as it lasts. A change of maps cuts none.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from flex.routing import haproxy_fallback, haproxy_globals
from flex.routing.haproxy_fallback import UP
from flex.routing.haproxy_frontends import CHECKED_AT_ONCE, DOWN_AT_ONCE, STRAYS, around_socket
from flex.routing.host_to_node_maps import MOVED, OWNERS, node_backend
from flex.routing.ports_and_paths import Layout, endpoint

# For so long a visitor may take to say a name, as for the head of a request.
_PATIENCE = "10s"
_HERE = "tls_here"
# What stands before the names of backends for requests, so that the same maps say both.
TLS = "tls_"


def sni_sections(
    node: str,
    addresses: Mapping[str, str],
    layout: Layout,
    hosts: str,
    every: int,
    left: Collection[str],
) -> Iterator[list[str]]:
    """The door, a backend for each node, and one for this node's own web server. `every` is how
    many seconds pass until a neighbour is asked again how it is; `left` are the pools that this
    node leaves.
    """
    yield _door(node, layout, hosts, left)
    yield [f"backend {_HERE}", "mode tcp", _server(layout.origin, layout, "")]
    check = f" check inter {every}s fall 2 rise 2"
    for name in sorted(addresses):
        own = name == node
        yield [
            f"backend {TLS}{node_backend(name)}",
            "mode tcp",
            *(["option tcp-check"] if layout.check_path and not own else []),
            *(
                [_server(layout.origin, layout, "")]
                if own
                else _way(addresses[name], layout, check)
            ),
        ]
    if layout.content != "everywhere":
        yield from _other_members(node, addresses, layout)


def _way(address: str, layout: Layout, check: str) -> list[str]:
    """As with requests: what cannot be connected is away at once, and this node's web server
    answers where it has the content of all sites. Else another node does that has the site.
    """
    server = _server(address, layout, check)
    if layout.content != "everywhere":
        return [
            f"{server} {CHECKED_AT_ONCE}",
            f"server around {_around_tls_socket(layout)} send-proxy-v2 backup",
        ]
    return [f"{server} {DOWN_AT_ONCE}", _server(layout.origin, layout, " backup", "here")]


def _other_members(node: str, addresses: Mapping[str, str], layout: Layout) -> Iterator[list[str]]:
    rule, is_up = "tcp-request content", haproxy_fallback.up_condition(TLS)
    yield [
        "frontend around_by_sni",
        "mode tcp",
        "no option http-ignore-probes",
        f"bind {_around_tls_socket(layout)} accept-proxy",
        *_name_lines(),
        *haproxy_fallback.searching_lines(rule, "var(txn.name)", is_up, layout),
        f"use_backend {TLS}%[var(txn.member)] if {is_up}",
    ]
    for name in sorted(addresses):
        tracked = f" track {TLS}{node_backend(name)}/tls"
        own = name == node
        yield [
            f"backend {TLS}{UP}{node_backend(name)}",
            "mode tcp",
            _server(layout.origin, layout, "")
            if own
            else _server(addresses[name], layout, tracked),
        ]


def _around_tls_socket(layout: Layout) -> str:
    return around_socket(layout, "around-tls")


def _door(node: str, layout: Layout, hosts: str, left: Collection[str]) -> list[str]:
    """A member of a replicated site answers what comes to it: nobody sees which path is asked
    for. One that leaves the site's pool does not.
    """
    is_member = "{ var(txn.site) -m found }"
    of_others = f"{{ var(txn.site) -m str {' '.join(sorted(left))} }}"
    owners = "var(txn.owner) -m found"
    looked_up = f"set-var(txn.owner) var(txn.name),map_str({layout.directory}"
    is_away = haproxy_globals.none_is_up("var(txn.way)")
    return [
        "frontend visitors_by_sni",
        f"maxconn {haproxy_globals.most_visitors_by_sni(layout)}",
        "mode tcp",
        "no option http-ignore-probes",
        *(f"bind {where}" for where in layout.listen_sni),
        *_name_lines(),
        f"tcp-request content {looked_up}/{MOVED})",
        f"tcp-request content {looked_up}/{OWNERS}) unless {{ {owners} }}",
        "tcp-request content set-var(txn.way) str(tls_),concat(,txn.owner)",
        f"tcp-request content set-var(txn.site) var(txn.name),map_str({layout.directory}/{hosts})",
        *([f"tcp-request content unset-var(txn.site) if {of_others}"] if left else []),
        *_stray_counting_lines(node, is_member),
        f"use_backend {_HERE} if {is_member}",
        *([f"use_backend {_HERE} if {is_away}"] if layout.content == "everywhere" else []),
        f"use_backend %[var(txn.way)] if {{ {owners} }}",
        f"default_backend {_HERE}",
    ]


def _name_lines() -> list[str]:
    return [
        f"tcp-request inspect-delay {_PATIENCE}",
        "tcp-request content reject unless { req.ssl_hello_type 1 }",
        "tcp-request content set-var(txn.name) req.ssl_sni,rtrim(.),lower",
    ]


def _stray_counting_lines(node: str, is_member: str) -> list[str]:
    """Counts, by name, what came in here and belongs elsewhere: beside the requests of the same
    name, as nobody sees how many of these a connection has.
    """
    elsewhere = f"{{ var(txn.owner) -m beg at_ }} !{{ var(txn.owner) -m str {node_backend(node)} }}"
    return [
        f"tcp-request content track-sc0 var(txn.name) table {STRAYS} if {elsewhere} !{is_member}",
        "tcp-request content sc-inc-gpc0(0) if { sc0_tracked }",
    ]


def _server(address: str, layout: Layout, more: str, name: str = "tls") -> str:
    told = " send-proxy-v2 check-send-proxy" if layout.proxy_protocol else ""
    return f"server {name} {endpoint(address, layout.origin_tls_port)}{told}{more}"

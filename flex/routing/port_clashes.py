"""No two of those that listen on a node may do so at one port.

Takes the Layout of the nodes' machines, and whether doors lead to all sites. Raises BadInput with
both settings, or returns nothing. Does not look at any machine: what else listens there is not
known.

HAProxy's own check takes such settings, and so does the system: who listens at a port twice shares
its connections, so every second visitor came to an inner door and was hung up on. Where the port is
that of the web servers HAProxy asks itself, again and again, and answers nobody.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations

from flex.routing.member_pools import unusable_configuration
from flex.routing.ports_and_paths import Layout

# As HAProxy's `bind` takes them: 192.0.2.1:80, [::]:80, :80, ipv4@*:8000-8010.
_LISTENED = re.compile(
    r"(?:ipv[46]@)?\[?(?P<host>[^@\[\]]*?)\]?:(?P<first>[0-9]{1,5})(?:-(?P<last>[0-9]{1,5}))?"
)
_EVERY = frozenset({"", "*", "0.0.0.0", "::"})  # noqa: S104  nothing is opened here
# Where the address is the node's own, which is another one on each.
_OF_NODE = "of the node"
_WEB_SERVER = "origin_port"


@dataclass(frozen=True, slots=True)
class _Listener:
    setting: str
    host: str
    ports: range


def refuse(layout: Layout, *, to_all_sites: bool) -> None:
    listeners = list(_listeners(layout, to_all_sites=to_all_sites))
    for listener, other in combinations(listeners, 2):
        if listener.setting != other.setting and _meet(listener, other):
            port = max(listener.ports.start, other.ports.start)
            raise unusable_configuration(
                f"{listener.setting} and {other.setting} in [routing]",
                f"both are port {port}, and "
                + (
                    "HAProxy would take itself for the web server"
                    if other.setting == _WEB_SERVER
                    else "HAProxy would give each of them some of its connections"
                ),
            )


def _listeners(layout: Layout, *, to_all_sites: bool) -> Iterator[_Listener]:
    """HAProxy's, and behind them the web servers'."""
    settings = {
        "listen": layout.listen,
        "listen_tls": layout.listen_tls,
        "listen_sni": layout.listen_sni,
        "inner_listen": layout.inner_listen if to_all_sites else (),
        "metrics": (layout.metrics,),
    }
    for setting, addresses in settings.items():
        for address in addresses:
            if matched := _LISTENED.fullmatch(address):
                first = int(matched["first"])
                ports = range(first, int(matched["last"] or first) + 1)
                yield _Listener(setting, matched["host"], ports)
    if to_all_sites and not layout.inner_listen:
        yield _listener_at("inner_port", "", layout.inner_port)
    yield _listener_at("peers_port", _OF_NODE, layout.peers_port)
    if layout.inner_certificate:
        yield _listener_at("member_port", _OF_NODE, layout.member_port)
    else:
        yield _listener_at(_WEB_SERVER, _OF_NODE, layout.origin_port)
    yield _listener_at(_WEB_SERVER, layout.origin, layout.origin_port)


def _listener_at(setting: str, host: str, port: int) -> _Listener:
    return _Listener(setting, host, range(port, port + 1))


def _meet(listener: _Listener, other: _Listener) -> bool:
    hosts = {listener.host, other.host}
    if not set(listener.ports) & set(other.ports):
        return False
    if len(hosts) == 1 or hosts & _EVERY:
        return True
    return _OF_NODE in hosts and not any(map(_is_loopback, hosts))


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"

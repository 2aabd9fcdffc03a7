"""What a node's HAProxy is to do, as its configuration.

In go a node, the pools of all sites that are routed and the Layout of its machine, out come the
files: the configuration, and the map from host names to backends. The same input gives the same
bytes. Nothing is written here.

The map also says which version of the files it is, so a running HAProxy can be asked by which it
goes: its key is no name that a request can have.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from hashlib import sha256

from flex.routing.pool import Pool, unwritten
from flex.routing.rules import RULES, popular
from flex.routing.rules.dynamic import send_lines, split
from flex.routing.rules.popular import POPULAR

DIRECTORY = "/etc/haproxy/flex"
CONFIGURATION = "haproxy.cfg"
HOSTS = "hosts.map"
VERSION = ":version"
# The names of routed sites, as an nginx `map` includes them.
ROUTED = "routed.map"
NAMES = frozenset((CONFIGURATION, HOSTS, POPULAR, ROUTED))

_WORD = re.compile(r"[A-Za-z0-9_./:*\[\]@-]{1,200}")
_PORTS = range(1, 65_536)


@dataclass(frozen=True, slots=True)
class Layout:
    """Where things are on the machine of every node. A port or path that is 0 or "" is not used.

    The web servers listen on `origin_port` of the nodes' addresses, on this machine of `origin`;
    the distributors tell each other on `peers_port`. `directory` is where the files of the
    configuration are. With a `bypass` visitors come to the web servers, which pass on to HAProxy
    what is for a routed site.
    """

    directory: str = DIRECTORY
    listen: tuple[str, ...] = (":80",)
    listen_tls: tuple[str, ...] = ()
    certificates: str = ""
    origin: str = "127.0.0.1"
    origin_port: int = 8080
    proxy_protocol: bool = False
    check_path: str = ""
    peers_port: int = 10_000
    socket: str = "/run/haproxy/flex.sock"
    metrics: str = "127.0.0.1:8405"
    threads: int = 0
    connections: int = 20_000
    bypass: bool = False
    hard_stop_after: timedelta = timedelta(minutes=5)

    def __post_init__(self) -> None:
        words = (
            self.directory,
            *self.listen,
            *self.listen_tls,
            self.certificates,
            self.socket,
            self.metrics,
        )
        for word in (*words, self.check_path):
            if word and not _WORD.fullmatch(word):
                raise unwritten(
                    f"{word!r:.100} in [routing]",
                    "it cannot stand in a HAProxy configuration",
                )
        if bool(self.listen_tls) != bool(self.certificates):
            raise unwritten(
                "TLS in [routing]",
                "addresses to listen on and a folder of certificates are needed together",
            )
        if not {self.origin_port, self.peers_port} <= set(_PORTS):
            raise unwritten("ports of [routing]", "a port is a number from 1 to 65535")
        if not timedelta(seconds=1) <= self.hard_stop_after <= timedelta(days=7):
            raise unwritten(
                "hard_stop_after in [routing]",
                "it is a second at least, and a week at most",
            )
        ipaddress.ip_address(self.origin)


def files(
    node: str, addresses: Mapping[str, str], pools: Iterable[Pool], layout: Layout
) -> dict[str, str]:
    """By name. `addresses` are those of all nodes that run HAProxy, by which they reach each
    other.
    """
    ours = []
    for pool in sorted(pools, key=lambda pool: pool.site):
        if any(member.node == node for member in pool.members):
            ours.append(pool)
    _refuse_shared_hosts(ours)
    sections = [
        _globals(node, layout),
        _defaults(layout),
        _peers(addresses, layout),
        _frontend(layout),
        _here(layout),
        *([_metrics(layout)] if layout.metrics else []),
    ]
    for pool in ours:
        distributors = sum(member.node in addresses for member in pool.members)
        sections += _backends(
            replace(pool, limits=pool.limits.among(max(1, distributors))), node, layout
        )
    made = {
        CONFIGURATION: "\n".join(map(_section, sections)),
        HOSTS: _hosts(ours),
        POPULAR: "".join(line for pool in ours for line in popular.entries(pool)),
    }
    if layout.bypass:
        made[ROUTED] = "".join(f"{host} 1;\n" for host in sorted(_doors(ours)))
    return made | {HOSTS: f"{VERSION} {_digest(made)}\n{made[HOSTS]}"}


def version(files: Mapping[str, str]) -> str:
    """Of files that were made here; "" of none."""
    key, _, value = files.get(HOSTS, "").partition("\n")[0].partition(" ")
    return value if key == VERSION else ""


def is_whole(files: Mapping[str, str]) -> bool:
    """Whether these are all files of the version that they say, to the last byte."""
    hosts = files.get(HOSTS, "").partition("\n")[2]
    return files.keys() <= NAMES and version(files) == _digest({**files, HOSTS: hosts})


def _digest(files: Mapping[str, str]) -> str:
    content = "".join(files[name] for name in sorted(files))
    return sha256(content.encode("ascii", "replace")).hexdigest()[:12]


def _section(lines: Iterable[str]) -> str:
    head, *rest = lines
    return "\n".join([head, *(f"    {line}" for line in rest), ""])


def _globals(node: str, layout: Layout) -> list[str]:
    return [
        "global",
        f"maxconn {layout.connections}",
        *([f"nbthread {layout.threads}"] if layout.threads else []),
        f"stats socket {layout.socket} mode 600 level admin expose-fd listeners",
        f"hard-stop-after {layout.hard_stop_after // timedelta(seconds=1)}s",
        f"localpeer {node}",
        f"node {node}",
    ]


def _defaults(layout: Layout) -> list[str]:
    return [
        "defaults",
        "mode http",
        "timeout connect 2s",
        "timeout client 60s",
        "timeout server 60s",
        "timeout queue 30s",
        "timeout http-request 10s",
        "timeout http-keep-alive 15s",
        "timeout check 2s",
        "retries 2",
        "option redispatch 1",
        "option http-ignore-probes",
        "http-reuse safe",
        *([f"option httpchk GET {layout.check_path}"] if layout.check_path else []),
    ]


def _peers(addresses: Mapping[str, str], layout: Layout) -> list[str]:
    """Who tells whom which members have which targets. Names are those of the nodes, the same
    everywhere.
    """
    return [
        "peers flex",
        *(
            f"peer {name} {_at(addresses[name], layout.peers_port)}"
            for name in sorted(addresses)
        ),
    ]


def _frontend(layout: Layout) -> list[str]:
    tls = f"ssl crt {layout.certificates} alpn h2,http/1.1 ssl-min-ver TLSv1.2"
    return [
        "frontend visitors",
        *(f"bind {where}" for where in layout.listen),
        *(f"bind {where} {tls}" for where in layout.listen_tls),
        *_visitor(layout),
        (
            "http-request set-var(txn.backend) "
            f"req.hdr(host),host_only,lower,map_str({layout.directory}/{HOSTS})"
        ),
        "use_backend %[var(txn.backend)] if { var(txn.backend) -m found }",
        "default_backend here",
    ]


def _visitor(layout: Layout) -> list[str]:
    """What web servers hear of a visitor. With a bypass one of them was asked first, and has said
    it already.
    """
    if layout.bypass:
        return []
    return [
        *([] if layout.proxy_protocol else ["option forwardfor"]),
        "http-request set-header X-Forwarded-Proto https if { ssl_fc }",
        "http-request set-header X-Forwarded-Proto http if !{ ssl_fc }",
    ]


def _here(layout: Layout) -> list[str]:
    """Sites on one node, and names that nobody knows: the web server of this machine answers."""
    return [
        "backend here",
        f"server origin {_at(layout.origin, layout.origin_port)}{_lines_of_server(layout)}",
    ]


def _metrics(layout: Layout) -> list[str]:
    return [
        "frontend metrics",
        f"bind {layout.metrics}",
        "http-request use-service prometheus-exporter if { path /metrics }",
        "http-request deny deny_status 404",
    ]


def _backends(pool: Pool, node: str, layout: Layout) -> Iterator[list[str]]:
    if pool.policy not in RULES:
        raise unwritten(
            f"routing {pool.site} by {pool.policy!r:.50}",
            f"the policies are {', '.join(RULES)}",
        )
    if not _limited(pool):
        yield [
            f"backend {pool.name}",
            *_lines_of_rule(pool, layout),
            *_servers(pool, node, layout),
        ]
        return
    yield from _admission(pool, _queue(pool, node, layout))
    yield [
        f"backend {pool.name}",
        *_waiting(pool),
        *_lines_of_rule(pool, layout),
        *_servers(pool, node, layout),
        "use-server door if waits !let_in",
        f"server door {_queue(pool, node, layout)} weight 0 send-proxy-v2",
    ]


def _servers(pool: Pool, node: str, layout: Layout) -> Iterator[str]:
    for member in pool.members:
        address = layout.origin if member.node == node else member.address
        sent = (
            f"{_lines_of_server(layout)} weight {member.weight} check inter 1s "
            "fall 2 rise 2 slowstart 5s"
        )
        state = " disabled" if member.leaving else ""
        at = f"{_at(address, layout.origin_port)} id {member.slot + 1}"
        yield f"server s{member.bit} {at}{sent}{state} # {member.node}"


def _lines_of_rule(pool: Pool, layout: Layout) -> list[str]:
    wide = popular.looked_up(pool, layout.directory) if pool.policy == "lardr" else ()
    return [*split(pool), *wide, *RULES[pool.policy](pool, "date"), *send_lines(pool)]


def _limited(pool: Pool) -> bool:
    return pool.limits.admission and len(pool.members) > 1


def _waiting(pool: Pool) -> list[str]:
    """With more requests under way than the paper's S of the members that are up, the next ones
    queue at the door.

    Those at the door count twice once they are let in, so the door is left only when half of S is
    under way.
    """
    limits = pool.limits
    return [
        (
            "http-request set-var(txn.over) "
            f"nbsrv,mul({limits.high}),sub({limits.high - limits.low + 1})"
        ),
        "http-request set-var(txn.over) be_conn,sub(txn.over)",
        "acl waits var(txn.over) -m int gt 0",
        "acl let_in var(txn.let_in) -m bool",
        "http-request allow if waits !let_in",
    ]


def _queue(pool: Pool, node: str, layout: Layout) -> str:
    """A name of the machine's, so those of another HAProxy on it are others."""
    ours = sha256(f"{layout.directory} {layout.socket}".encode()).hexdigest()[:8]
    return f"abns@{pool.name}.{node}.{ours}"


def _admission(pool: Pool, queue: str) -> Iterator[list[str]]:
    """As many requests as the paper's S go on to the members, in the order they came; the others
    wait here.

    S is shared out: a place for each member, shut when the member is down, so that S follows those
    that are up. Few requests come this way: to most the door is open, and a hop costs more than all
    rules.
    """
    share = pool.limits.most_under_way(len(pool.members)) // len(pool.members)
    yield [
        f"frontend {pool.name}_queue",
        f"bind {queue} accept-proxy",
        f"default_backend {pool.name}_door",
    ]
    yield [
        f"backend {pool.name}_door",
        "balance leastconn",
        "http-reuse never",
        *(
            f"server d{member.bit} {queue}.in maxconn {share} send-proxy-v2 track "
            f"{pool.name}/s{member.bit}"
            for member in pool.members
        ),
    ]
    yield [
        f"frontend {pool.name}_inside",
        f"bind {queue}.in accept-proxy",
        "http-request set-var(txn.let_in) bool(true)",
        f"default_backend {pool.name}",
    ]


def _hosts(pools: Iterable[Pool]) -> str:
    return "".join(f"{host} {name}\n" for host, name in sorted(_doors(pools).items()))


def _doors(pools: Iterable[Pool]) -> dict[str, str]:
    """By host name the backend."""
    return {host: pool.name for pool in pools for host in {pool.site, *pool.hosts}}


def _at(address: str, port: int) -> str:
    return f"[{address}]:{port}" if ":" in address else f"{address}:{port}"


def _lines_of_server(layout: Layout) -> str:
    return " send-proxy-v2 check-send-proxy" if layout.proxy_protocol else ""


def _refuse_shared_hosts(pools: Collection[Pool]) -> None:
    seen: dict[str, str] = {}
    for pool in pools:
        for host in {pool.site, *pool.hosts}:
            if seen.setdefault(host, pool.site) != pool.site:
                raise unwritten(
                    f"the host name {host}",
                    f"both {seen[host]} and {pool.site} have it",
                )

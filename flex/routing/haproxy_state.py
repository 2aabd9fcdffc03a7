"""What the HAProxy of one node knows: how loaded the members are, which members have which targets,
and who waits.

Takes pools and the socket of a running HAProxy. Returns values; a figure that HAProxy does not give
is 0 or empty. Does not change anything. HAProxy knows targets by a hash alone, so a target has a
name only where the caller gives paths that may be asked for.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from flex.routing import haproxy_socket
from flex.routing.haproxy import HOSTS, VERSION
from flex.routing.haproxy_socket import BackendServer, Socket, Target
from flex.routing.member_pools import Pool

# How many targets are told of one by one.
MOST = 20

Paths = Mapping[str, Sequence[str]]


@dataclass(frozen=True, slots=True)
class MemberLive:
    node: str
    status: str
    under_way: int
    waiting: int
    served: int
    targets: int


@dataclass(frozen=True, slots=True)
class TargetLive:
    """Which nodes have a target. It is named by its path, or by HAProxy's number where its path is
    not among those expected. `changed` is a Unix time.
    """

    target: str
    nodes: tuple[str, ...]
    changed: int
    overloaded: int


@dataclass(frozen=True, slots=True)
class Live:
    """`shared` of the targets are with several members. `overloaded` counts requests for targets
    whose members had too much to do, `waiting` those that are at the door. `busiest` are the
    targets that had too much most often.
    """

    site: str
    targets: int
    shared: int
    overloaded: int
    waiting: int
    members: tuple[MemberLive, ...]
    busiest: tuple[TargetLive, ...] = ()


@dataclass(frozen=True, slots=True)
class Distributor:
    """A node's HAProxy, and the version of the files that it goes by."""

    node: str
    version: str
    sites: tuple[Live, ...]


def distributor(
    pools: Sequence[Pool], socket: Socket, directory: str, paths: Paths | None = None
) -> Distributor:
    """`directory` is where HAProxy found its maps. Raises Away when HAProxy does not answer."""
    node = haproxy_socket.parse_node_name(socket.ask("show", "info"))
    version = haproxy_socket.parse_map_value(
        socket.ask("get", "map", f"{directory}/{HOSTS}", VERSION)
    )
    ours = [pool for pool in pools if not node or node in {member.node for member in pool.members}]
    return Distributor(node, version, live(ours, socket, paths))


def live(pools: Sequence[Pool], socket: Socket, paths: Paths | None = None) -> tuple[Live, ...]:
    """`paths` has, by site, the paths that are probably asked for most. Raises Away when HAProxy
    does not answer.
    """
    every = haproxy_socket.parse_stat(socket.ask("show", "stat"))
    return tuple(
        _state_of_pool(
            pool,
            every,
            tuple(haproxy_socket.targets(socket.ask("show", "table", pool.name))),
            _names(pool, (paths or {}).get(pool.site, ())),
        )
        for pool in pools
    )


def _state_of_pool(
    pool: Pool, every: Sequence[BackendServer], targets: Sequence[Target], names: Mapping[str, str]
) -> Live:
    rows = {row.server: row for row in every if row.backend == pool.name}
    at_door = {(pool.name, "door"), (f"{pool.name}_door", "BACKEND")}
    waiting = sum(row.waiting for row in every if (row.backend, row.server) in at_door)
    busiest = sorted(
        targets, key=lambda each: (-each.overloaded, -each.set.bit_count(), each.key not in names)
    )[:MOST]
    return Live(
        pool.site,
        len(targets),
        sum(target.set.bit_count() > 1 for target in targets),
        sum(target.overloaded for target in targets),
        waiting,
        tuple(
            _member(member.node, rows.get(f"s{member.bit}"), member.bit, targets)
            for member in pool.members
        ),
        tuple(_target(pool, target, names) for target in busiest),
    )


def _member(
    node: str, row: BackendServer | None, bit: int, targets: Sequence[Target]
) -> MemberLive:
    here = sum(bool(target.set & bit) for target in targets)
    if row is None:
        return MemberLive(node, "", 0, 0, 0, here)
    return MemberLive(node, row.status, row.under_way, row.waiting, row.served, here)


def _target(pool: Pool, target: Target, names: Mapping[str, str]) -> TargetLive:
    nodes = tuple(member.node for member in pool.members if member.bit & target.set)
    return TargetLive(
        names.get(target.key, f"#{target.key}"), nodes, target.changed, target.overloaded
    )


def _names(pool: Pool, paths: Iterable[str]) -> dict[str, str]:
    """Paths by HAProxy's numbers. Empty where queries count: then a number cannot be traced back to
    a path.
    """
    if pool.by_query:
        return {}
    return {
        str(number(f"{host}{path}")): path for path in paths for host in (*pool.hosts, pool.site)
    }


def number(target: str) -> int:
    """HAProxy's base32 of host and path: the hash of SDBM, then one of Bob Jenkins' that spreads
    it.
    """
    hashed, most = 0, 2**32 - 1
    for byte in target.encode("utf-8"):
        hashed = byte + (hashed << 6) + (hashed << 16) - hashed & most
    hashed = hashed + 0x7ED55D16 + (hashed << 12) & most
    hashed = hashed ^ 0xC761C23C ^ hashed >> 19
    hashed = hashed + 0x165667B1 + (hashed << 5) & most
    hashed = (hashed + 0xD3A2646C ^ hashed << 9) & most
    hashed = hashed + 0xFD7046C5 + (hashed << 3) & most
    hashed = hashed ^ 0xB55A4F09 ^ hashed >> 16
    return hashed * 3_221_225_473 & most

"""What the distributor of one machine knows of a site: its members' loads, who has which targets, who waits.

In go a pool and the socket of a running HAProxy; out comes one value. What HAProxy does not say is nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from flex.steer import runtime
from flex.steer.pool import Pool
from flex.steer.runtime import Served, Socket, Target


@dataclass(frozen=True, slots=True)
class MemberLive:
    node: str
    status: str
    under_way: int
    waiting: int
    served: int
    targets: int


@dataclass(frozen=True, slots=True)
class Live:
    """`shared` of the targets are with several members. `overloaded` counts requests for targets whose members had too
    much to do, `waiting` those that are at the door.
    """

    site: str
    targets: int
    shared: int
    overloaded: int
    waiting: int
    members: tuple[MemberLive, ...]


def live(pools: Sequence[Pool], socket: Socket) -> tuple[Live, ...]:
    """Raises Away when nobody answers there."""
    every = runtime.served(socket.ask("show", "stat"))
    return tuple(_of(pool, every, tuple(runtime.targets(socket.ask("show", "table", pool.name)))) for pool in pools)


def _of(pool: Pool, every: Sequence[Served], targets: Sequence[Target]) -> Live:
    rows = {row.server: row for row in every if row.backend == pool.name}
    door = [row.waiting for row in every if row.backend == f"{pool.name}_door" and row.server == "BACKEND"]
    return Live(
        pool.site,
        len(targets),
        sum(target.set.bit_count() > 1 for target in targets),
        sum(target.overloaded for target in targets),
        sum(door),
        tuple(_member(member.node, rows.get(f"s{member.bit}"), member.bit, targets) for member in pool.members),
    )


def _member(node: str, row: Served | None, bit: int, targets: Sequence[Target]) -> MemberLive:
    here = sum(bool(target.set & bit) for target in targets)
    if row is None:
        return MemberLive(node, "", 0, 0, 0, here)
    return MemberLive(node, row.status, row.under_way, row.waiting, row.served, here)

"""Models of a cluster: what nodes cost, with the constants of the papers as named defaults. Times
are nanoseconds.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from flex.caches import CACHES
from flex.errors import BadInput
from flex.sim.engine_input_and_output import NOBODY

# Bytes.
MIB = 2**20
# Times are whole nanoseconds.
MICROSECOND = 1000
MILLISECOND = 1000 * MICROSECOND
SECOND = 1000 * MILLISECOND

# Bytes: memories keep files of any size, where nothing else is said.
LARGEST_FILE = 2**62

# Connections under way on a node that has room (LARD, ASPLOS 1998, section 2.4).
T_LOW = 25
# Connections under way on a node that is overloaded (LARD, ASPLOS 1998, section 2.4).
T_HIGH = 65


@dataclass(frozen=True, slots=True)
class FrontEnd:
    """What looking into a request costs: `connect` for each, `send` for each unit of its answer;
    and who pays.
    """

    kind: int = NOBODY
    connect: int = 0
    send: int = 0


@dataclass(frozen=True, slots=True)
class SimulatedCluster:
    """`ram` of each node is what its cache holds; `speed` divides its processor's times, in
    hundredths.

    `serial` nodes answer one access after the other. Otherwise `limit` accesses are under way at a
    time; 0 is LARD's S = (n - 1) * T_high + T_low - 1. A node with fewer than 40 % of T_low under
    way is idle. No memory keeps a file of more than `largest` bytes. `prefetch` is the share of the
    memory that is filled beforehand, in per cent, where the policy says with what.
    """

    ram: tuple[int, ...]
    cache: str
    serial: bool
    connect: int
    close: int
    send: int
    send_unit: int
    seek: int
    again: int
    block: int
    transfer: int
    transfer_unit: int
    speed: tuple[int, ...] = ()
    disks: int = 1
    limit: int = 0
    front: FrontEnd = FrontEnd()
    prefetch: int = 0
    largest: int = LARGEST_FILE

    @property
    def nodes(self) -> int:
        return len(self.ram)

    @property
    def speeds(self) -> tuple[int, ...]:
        return self.speed or (100,) * self.nodes

    @property
    def most_under_way(self) -> int:
        return self.limit or max((self.nodes - 1) * T_HIGH + T_LOW - 1, 1)


def flex(nodes: int, ram: int) -> SimulatedCluster:
    """HPL-2000-28, section 4: 1000 answers of 14.6 KB a second from memory, ten times fewer from
    disk, LRU.
    """
    byte = round(SECOND / (1000 * 14.6 * 1024))
    return SimulatedCluster(
        (ram,) * nodes, "lru", serial=True, connect=0, close=0, send=byte, send_unit=1,
        seek=0, again=0, block=44 * 1024, transfer=9 * byte, transfer_unit=1,
    )  # fmt: skip


def lard(nodes: int, ram: int = 32 * MIB) -> SimulatedCluster:
    """ASPLOS 1998, section 3.1: a Pentium II of 300 MHz with one disk, GDS."""
    return SimulatedCluster(
        (ram,) * nodes,
        "gds",
        serial=False,
        connect=145 * MICROSECOND,
        close=145 * MICROSECOND,
        send=40 * MICROSECOND,
        send_unit=512,
        seek=28 * MILLISECOND,
        again=14 * MILLISECOND,
        block=44 * 1024,
        transfer=410 * MICROSECOND,
        transfer_unit=4096,
    )


MODELS: dict[str, Callable[[int, int], SimulatedCluster]] = {"flex": flex, "lard": lard}


def check(cluster: SimulatedCluster) -> SimulatedCluster:
    wrong = _wrong(cluster)
    if wrong:
        raise BadInput(
            "the cluster to simulate",
            wrong,
            kept="nothing was simulated",
            advice="change that figure",
        )
    return cluster


def _wrong(cluster: SimulatedCluster) -> str:
    if not cluster.nodes:
        return "has no node"
    if min(cluster.ram) < 0:
        return f"has a node with {min(cluster.ram)} bytes of memory"
    if cluster.cache not in CACHES:
        return f"caches by {cluster.cache!r}; there are {', '.join(CACHES)}"
    if len(cluster.speeds) != cluster.nodes or min(cluster.speeds) < 1:
        return "has nodes without a speed"
    if cluster.disks < 1:
        return f"has {cluster.disks} disks a node"
    return (
        ""
        if 0 <= cluster.prefetch <= 100
        else f"fills {cluster.prefetch} % of its memory beforehand"
    )

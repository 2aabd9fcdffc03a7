"""What both engines of the simulator take and return, as plain arrays and whole numbers.

Routing, costs and caches are numbers here, so that Python and Rust decide alike. Times are
nanoseconds, sizes are bytes. Does not make a SimulatedJob from a trace, a cluster and a policy:
simulate.py does.
"""

from __future__ import annotations

from dataclasses import dataclass

from flex.prediction.cache_replay import Ints

# How the nodes' memories belong together; the numbers are those of the native crate.
# Each node has its own.
OWN = 0
# Each node has its own, and fetches what another node has from there.
FETCHING = 1
# All nodes have one memory of the size of all.
SHARED = 2

# Who pays for looking into requests; the numbers are those of the native crate.
NOBODY = 0
# The front end, every time.
FRONT_END = 1
# The nodes, in turn.
DISTRIBUTORS = 2

# Where the answer to an access came from; the numbers are those of the native crate.
# From memory.
HIT = 0
# From disk.
READ = 1
# With what another access was reading from disk.
WAITED = 2
# From another node's memory.
FETCHED = 3


@dataclass(frozen=True, slots=True, eq=False)
class SimulatedJob:
    """Access i asks for target[i], and the rule of key[i] chooses its node.

    A target has a `size`, the `work` that it costs the processor beside sending, and the `disk`
    that it is on. A node has its `ram`, the time to `connect`, to `send` a unit and to `close`, and
    its `weight`. A key has its `rule`, and the nodes it may choose from, option[first[k]:first[k +
    1]]. pinned[t * nodes + n] says that node n always has target t in memory, apart from its ram.
    An empty array pins nothing. No memory keeps a target of more than `largest` bytes.

    Reading takes `seek`, then `transfer` for each unit, and `again` for every further `block`.
    `limit` accesses are under way at a time. A node with fewer than `idle_below` is idle. The first
    `warm` accesses fill the memories and are not counted: nodes with queues alone have such. The
    rest are the rules' settings.
    """

    cache: str
    serial: bool
    target: Ints
    key: Ints
    size: Ints
    work: Ints
    disk: Ints
    ram: Ints
    connect: Ints
    send: Ints
    close: Ints
    weight: Ints
    rule: Ints
    first: Ints
    option: Ints
    pinned: Ints
    send_unit: int
    disks: int
    seek: int
    again: int
    block: int
    transfer: int
    transfer_unit: int
    memory: int
    largest: int
    front: int
    front_connect: int
    front_send: int
    limit: int
    idle_below: int
    warm: int
    backlog_unit: int
    low: int
    high: int
    patience: int
    bound: int
    interval: int
    margin: int
    cpu_share: int


@dataclass(frozen=True, slots=True, eq=False)
class ServedAccesses:
    """For each access: its node, its outcome, and how long it took since it was admitted. For each
    node: how long its processor and its disks were given to do since counting `began`, and how long
    it was idle in all. `end` is when the last access was answered.
    """

    node: Ints
    outcome: Ints
    delay: Ints
    busy: Ints
    reading: Ints
    idle: Ints
    began: int
    end: int


def units(count: int, unit: int) -> int:
    return -(-count // unit)

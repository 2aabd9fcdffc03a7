"""The LARD paper's nodes: a queue for the processor and for each disk, and a limit to the requests
that are under way.

An access connects, is answered from memory or disk, and closes. A file is read block by block, and
each block is sent before the next is read. An access to a file that is being read already waits for
it, and reads nothing. Events of the same moment happen in the order in which they were planned.
"""

from __future__ import annotations

import heapq
from typing import Protocol

from flex.sim.engine_input_and_output import (
    DISTRIBUTORS,
    FETCHED,
    FETCHING,
    FRONT_END,
    HIT,
    READ,
    WAITED,
    SimulatedJob,
    units,
)
from flex.sim.rules.rule import AccessAsked, View

# The events of a request; the numbers only tell them apart.
_ARRIVED = 0
_CONNECTED = 1
_BLOCK_READ = 2
_BLOCK_SENT = 3
_HANDED_OVER = 4
_DONE = 5


class Memories(Protocol):
    def pinned(self, node: int, target: int) -> bool: ...

    def ask(self, node: int, target: int) -> bool: ...

    def elsewhere(self, node: int, target: int) -> int | None: ...


class Router(Protocol):
    def choose(self, request: AccessAsked, view: View) -> int: ...


class Queued:
    def __init__(self, job: SimulatedJob, memories: Memories, router: Router) -> None:
        nodes, accesses = len(job.ram), len(job.target)
        self._job, self._memories, self._router = job, memories, router
        self._target: list[int] = job.target.tolist()
        self._key: list[int] = job.key.tolist()
        self._size: list[int] = job.size.tolist()
        self.view = View([0] * nodes, 0, [0] * nodes, [0] * nodes)
        self.node = [0] * accesses
        self.outcome = [HIT] * accesses
        self.delay = [0] * accesses
        self.idle = [0] * nodes
        # When counting began, and what nodes had been given to do until then.
        self.began = 0
        self.before = ([0] * nodes, [0] * nodes)
        self._idle_since = [0] * nodes
        self._events: list[tuple[int, int, int, int]] = []
        self._pushed = self._admitted = self._outstanding = self._front_free = 0
        self._processor_free = [0] * nodes
        self._disk_free = [0] * (nodes * job.disks)
        self._offset = [0] * accesses
        self._waiting: dict[tuple[int, int], list[int]] = {}

    def run(self) -> None:
        happen = (
            self._arrive, self._handle_connection, self._block_read, self._read_block,
            self._handed_over, self._handle_end,
        )  # fmt: skip
        self._admit()
        while self._events:
            self.view.now, _, what, access = heapq.heappop(self._events)
            happen[what](access)
        for node in range(len(self.idle)):
            self._count_idle(node)

    def _admit(self) -> None:
        while self._outstanding < self._job.limit and self._admitted < len(self._target):
            access = self._admitted
            if access == self._job.warm:
                self.began = self.view.now
                self.before = (self.view.busy[:], self.view.reading[:])
            self._admitted += 1
            self._outstanding += 1
            self.delay[access] = self.view.now
            self._look_into(access)

    def _look_into(self, access: int) -> None:
        job = self._job
        cost = (
            job.front_connect
            + units(self._size[self._target[access]], job.send_unit) * job.front_send
        )
        if job.front == FRONT_END:
            self._front_free = max(self._front_free, self.view.now) + cost
            self._push(self._front_free, _ARRIVED, access)
        elif job.front == DISTRIBUTORS:
            self._push(self._compute(access % len(self.idle), cost), _ARRIVED, access)
        else:
            self._arrive(access)

    def _arrive(self, access: int) -> None:
        request = AccessAsked(access, self._key[access], self._target[access])
        node = self.node[access] = self._router.choose(request, self.view)
        self._count_idle(node)
        self.view.load[node] += 1
        self._push(self._compute(node, int(self._job.connect[node])), _CONNECTED, access)

    def _handle_connection(self, access: int) -> None:
        node, target = self.node[access], self._target[access]
        if self._memories.pinned(node, target):
            self._send_all(access)
        elif (node, target) in self._waiting:
            self.outcome[access] = WAITED
            self._waiting[node, target].append(access)
        else:
            holder = (
                self._memories.elsewhere(node, target) if self._job.memory == FETCHING else None
            )
            if self._memories.ask(node, target):
                self._send_all(access)
            elif holder is not None:
                self.outcome[access] = FETCHED
                self._push(
                    self._compute(holder, self._sending(holder, self._size[target])),
                    _HANDED_OVER,
                    access,
                )
            else:
                self.outcome[access] = READ
                self._waiting[node, target] = []
                self._read_block(access)

    def _send_all(self, access: int, before: int = 0) -> None:
        """Send the whole answer and close the connection, after so much other work."""
        node, target = self.node[access], self._target[access]
        self._close(access, before + self._sending(node, self._size[target]))

    def _close(self, access: int, before: int) -> None:
        node, target = self.node[access], self._target[access]
        cost = before + int(self._job.work[target]) + int(self._job.close[node])
        self._push(self._compute(node, cost), _DONE, access)

    def _handed_over(self, access: int) -> None:
        """What another node handed over is taken in at the cost of sending it."""
        self._send_all(access, self._sending(self.node[access], self._size[self._target[access]]))

    def _read_block(self, access: int) -> None:
        job, node, target = self._job, self.node[access], self._target[access]
        finding = job.again if self._offset[access] else job.seek
        cost = finding + units(self._block_bytes(access), job.transfer_unit) * job.transfer
        disk = node * job.disks + int(job.disk[target])
        self._disk_free[disk] = max(self.view.now, self._disk_free[disk]) + cost
        self.view.reading[node] += cost
        self._push(self._disk_free[disk], _BLOCK_READ, access)

    def _block_read(self, access: int) -> None:
        node, target = self.node[access], self._target[access]
        bytes_ = self._block_bytes(access)
        self._offset[access] += bytes_
        if self._offset[access] < self._size[target]:
            self._push(self._compute(node, self._sending(node, bytes_)), _BLOCK_SENT, access)
            return
        self._close(access, self._sending(node, bytes_))
        for waiter in self._waiting.pop((node, target), []):
            self._send_all(waiter)

    def _block_bytes(self, access: int) -> int:
        return min(self._size[self._target[access]] - self._offset[access], self._job.block)

    def _handle_end(self, access: int) -> None:
        node = self.node[access]
        self._count_idle(node)
        self.view.load[node] -= 1
        self._outstanding -= 1
        self.delay[access] = self.view.now - self.delay[access]
        self._admit()

    def _sending(self, node: int, bytes_: int) -> int:
        return units(bytes_, self._job.send_unit) * int(self._job.send[node])

    def _compute(self, node: int, cost: int) -> int:
        """When the node's processor, which does one thing after the other, will have done this
        too.
        """
        self._processor_free[node] = max(self.view.now, self._processor_free[node]) + cost
        self.view.busy[node] += cost
        return self._processor_free[node]

    def _count_idle(self, node: int) -> None:
        if self.view.load[node] < self._job.idle_below:
            self.idle[node] += self.view.now - self._idle_since[node]
        self._idle_since[node] = self.view.now

    def _push(self, time: int, what: int, access: int) -> None:
        self._pushed += 1
        heapq.heappush(self._events, (time, self._pushed, what, access))

"""HACC's Smart Router (Zhang and others, USENIX NT 1999): each key has one node; an overloaded node
hands some over.

A node's load is what its processor and its disks did since the last sample, weighted, in
thousandths of the time: the paper measures the use of the processor and the bytes that disks
transferred. What they were given and have not done yet counts later. New keys go to the least
loaded. A node whose load exceeds the least by more than `margin` hands keys over to that one as
they are asked for, as many as would halve the difference, until the next sample.
"""

from __future__ import annotations

from collections.abc import Sequence

from flex.sim.engine_input_and_output import SimulatedJob
from flex.sim.rules.rule import AccessAsked, View

# Loads are whole thousandths of the time.
_WHOLE = 1000


class Hacc:
    def __init__(self, job: SimulatedJob) -> None:
        nodes = len(job.ram)
        self._job = job
        self._server: dict[int, int] = {}
        self._held = [0] * nodes
        self._load = [0] * nodes
        # Of each node's processor and disks: what they were given so far, and have not done yet.
        self._seen = [(0, 0)] * nodes
        self._left = [(0, 0)] * nodes
        self._sampled = 0
        self._spare = [0] * nodes

    def choose(self, request: AccessAsked, nodes: Sequence[int], view: View) -> int:
        if view.now - self._sampled >= self._job.interval:
            self._sample(nodes, view)
        server = self._server.get(request.key)
        if server is not None and self._spare[server] <= 0:
            return server
        if server is not None:
            self._spare[server] -= 1
        least = self._least(nodes)
        if server is not None:
            self._held[server] -= 1
        self._server[request.key] = least
        self._held[least] += 1
        return least

    def _sample(self, nodes: Sequence[int], view: View) -> None:
        passed, self._sampled = view.now - self._sampled, view.now
        most = (passed, passed * self._job.disks)
        for node, seen in enumerate(zip(view.busy, view.reading, strict=True)):
            waiting = [
                left + now - before
                for left, now, before in zip(self._left[node], seen, self._seen[node], strict=True)
            ]
            busy, reading = (min(work, time) for work, time in zip(waiting, most, strict=True))
            self._seen[node] = seen
            self._left[node] = (waiting[0] - busy, waiting[1] - reading)
            work = self._job.cpu_share * busy + (100 - self._job.cpu_share) * reading
            self._load[node] = work // 100 * _WHOLE // passed
        least = self._load[self._least(nodes)]
        for node, load in enumerate(self._load):
            excess = load - least
            self._spare[node] = (
                self._held[node] * excess // (2 * load) if excess > self._job.margin else 0
            )

    def _least(self, nodes: Sequence[int]) -> int:
        """By the load last sampled; of equals the one that holds least, then the first."""
        return min(nodes, key=lambda node: (self._load[node], self._held[node]))

"""LB/GC: an access goes to a node that has the target in memory. If there is none, it goes to the
node that has the oldest target of all, which makes room for it.

The front end keeps what it believes to be in each memory: what it sent there, less what that made
leave. So it knows of a target that is on its way, and nodes tell it nothing.

While some nodes were sent less than their memory holds, the node that was sent least takes what is
new.
"""

from __future__ import annotations

from collections.abc import Sequence

from flex.caches import CACHES
from flex.sim.engine_input_and_output import SimulatedJob
from flex.sim.rules.rule import AccessAsked, View


class Cached:
    def __init__(self, job: SimulatedJob) -> None:
        self._size, self._ram = job.size.tolist(), job.ram.tolist()
        self._memories = [CACHES[job.cache](ram) for ram in self._ram]
        self._last = [-1] * len(job.size)
        self._sent = [0] * len(job.ram)

    def choose(self, request: AccessAsked, nodes: Sequence[int], view: View) -> int:
        target = request.target
        holder = next((node for node in nodes if target in self._memories[node]), None)
        node = self._place_new_target(target, nodes) if holder is None else holder
        self._memories[node].ask(target, self._size[target])
        self._last[target] = request.access
        return node

    def _place_new_target(self, target: int, nodes: Sequence[int]) -> int:
        size = self._size[target]
        room = [node for node in nodes if self._sent[node] + size <= self._ram[node]]
        if room:
            node = min(room, key=self._sent.__getitem__)
            self._sent[node] += size
            return node
        return min(nodes, key=self._age)

    def _age(self, node: int) -> int:
        """When its oldest was last asked for; a memory with nothing in it comes before all."""
        oldest = self._memories[node].oldest()
        return -1 if oldest is None else self._last[oldest]

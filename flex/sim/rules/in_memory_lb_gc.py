"""LB/GC: an access goes to a node that has the target in memory. If there is none, it goes to the
node that has the oldest target of all, which makes room for it.

While some nodes were sent less than their memory holds, the node that was sent least takes what is
new.

A target that is asked for again while it is on its way may come to two nodes. Then one of them has
it, and the copy on the other is the first to leave. Otherwise that copy would keep its node from
making room for anything.
"""

from __future__ import annotations

from collections.abc import Sequence

from flex.sim.engine_input_and_output import SimulatedJob
from flex.sim.rules.rule import AccessAsked, Contents, View


class Cached:
    def __init__(self, job: SimulatedJob) -> None:
        self._size, self._ram = job.size.tolist(), job.ram.tolist()
        self._last = [-1] * len(job.size)
        self._sent = [0] * len(job.ram)
        self._node = [-1] * len(job.size)

    def choose(
        self, request: AccessAsked, nodes: Sequence[int], view: View, memory: Contents
    ) -> int:
        had = self._node[request.target]
        holder = (
            had
            if had >= 0 and memory.holds(had, request.target)
            else self._holder(request.target, nodes, memory)
        )
        node = self._place_new_target(request.target, nodes, memory) if holder is None else holder
        self._last[request.target], self._node[request.target] = request.access, node
        return node

    def _holder(self, target: int, nodes: Sequence[int], memory: Contents) -> int | None:
        return next((node for node in nodes if memory.holds(node, target)), None)

    def _place_new_target(self, target: int, nodes: Sequence[int], memory: Contents) -> int:
        size = self._size[target]
        room = [node for node in nodes if self._sent[node] + size <= self._ram[node]]
        if room:
            node = min(room, key=self._sent.__getitem__)
            self._sent[node] += size
            return node
        return min(nodes, key=lambda node: self._age(node, memory.oldest(node)))

    def _age(self, node: int, target: int | None) -> int:
        """When its oldest was last asked for; a memory with nothing in it, or with what others are
        asked for, comes before all others.
        """
        return self._last[target] if target is not None and self._node[target] == node else -1

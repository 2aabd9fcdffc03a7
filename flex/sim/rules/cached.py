"""Where the target is in memory; else where the oldest target of all is, which then makes room for it: LB/GC.

As long as there are nodes that were sent less than their memory holds, the one that was sent least takes what is new.
"""

from __future__ import annotations

from collections.abc import Sequence

from flex.sim.job import Job
from flex.sim.rules.rule import Asked, Contents, View


class Cached:
    def __init__(self, job: Job) -> None:
        self._size, self._ram = job.size.tolist(), job.ram.tolist()
        self._last = [-1] * len(job.size)
        self._sent = [0] * len(job.ram)

    def choose(self, asked: Asked, nodes: Sequence[int], view: View, memory: Contents) -> int:
        holder = next((node for node in nodes if memory.holds(node, asked.target)), None)
        node = self._for_new(asked.target, nodes, memory) if holder is None else holder
        self._last[asked.target] = asked.access
        return node

    def _for_new(self, target: int, nodes: Sequence[int], memory: Contents) -> int:
        size = self._size[target]
        room = [node for node in nodes if self._sent[node] + size <= self._ram[node]]
        if room:
            node = min(room, key=self._sent.__getitem__)
            self._sent[node] += size
            return node
        return min(nodes, key=lambda node: self._age(memory.oldest(node)))

    def _age(self, target: int | None) -> int:
        """When its oldest was last asked for; a memory with nothing in it comes before all others."""
        return -1 if target is None else self._last[target]

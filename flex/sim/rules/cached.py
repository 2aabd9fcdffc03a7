"""Where the target is in memory; else where the oldest target of all is, which then makes room for it: LB/GC."""

from __future__ import annotations

from collections.abc import Sequence

from flex.sim.job import Job
from flex.sim.rules.rule import Asked, Contents, View


class Cached:
    def __init__(self, job: Job) -> None:
        self._last = [-1] * len(job.size)

    def choose(self, asked: Asked, nodes: Sequence[int], view: View, memory: Contents) -> int:
        holder = next((node for node in nodes if memory.holds(node, asked.target)), None)
        node = min(nodes, key=lambda node: self._age(memory.oldest(node))) if holder is None else holder
        self._last[asked.target] = asked.access
        return node

    def _age(self, target: int | None) -> int:
        """When its oldest was last asked for; a memory with nothing in it comes before all others."""
        return -1 if target is None else self._last[target]

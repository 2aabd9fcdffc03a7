"""The node with the fewest accesses under way for its weight; the first of equals."""

from __future__ import annotations

from collections.abc import Sequence

from flex.sim.engine_input_and_output import SimulatedJob
from flex.sim.rules.rule import AccessAsked, View


class Least:
    def __init__(self, job: SimulatedJob) -> None:
        self._weight = job.weight.tolist()

    def choose(self, request: AccessAsked, nodes: Sequence[int], view: View) -> int:
        best = nodes[0]
        for node in nodes[1:]:
            if view.load[node] * self._weight[best] < view.load[best] * self._weight[node]:
                best = node
        return best

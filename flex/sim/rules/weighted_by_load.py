"""Round robin weighted by load, as front ends do it: nodes in turn, without those that have more
under way than their share.

A node's share of what is under way is its share of the weights. There is always a node that has no
more than that.
"""

from __future__ import annotations

from collections.abc import Sequence

from flex.sim.engine_input_and_output import SimulatedJob
from flex.sim.rules.rule import AccessAsked, View


class Weighted:
    def __init__(self, job: SimulatedJob) -> None:
        self._weight = job.weight.tolist()
        self._next = [0] * len(job.rule)

    def choose(self, request: AccessAsked, nodes: Sequence[int], view: View) -> int:
        total = sum(view.load[node] for node in nodes)
        weight = sum(self._weight[node] for node in nodes)
        start = self._next[request.key]
        places = ((start + step) % len(nodes) for step in range(len(nodes)))
        place = next(
            p for p in places if view.load[nodes[p]] * weight <= total * self._weight[nodes[p]]
        )
        self._next[request.key] = (place + 1) % len(nodes)
        return nodes[place]

"""Each key's nodes in turn."""

from __future__ import annotations

from collections.abc import Sequence

from flex.sim.engine_input_and_output import SimulatedJob
from flex.sim.rules.rule import AccessAsked, View


class Turn:
    def __init__(self, job: SimulatedJob) -> None:
        self._next = [0] * len(job.rule)

    def choose(self, request: AccessAsked, nodes: Sequence[int], view: View) -> int:
        place = self._next[request.key]
        self._next[request.key] = (place + 1) % len(nodes)
        return nodes[place]

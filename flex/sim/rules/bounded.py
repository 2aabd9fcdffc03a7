"""Consistent hashing with bounded loads (Mirrokni and others, 2016): the first node along the key's
ring that has room.

The nodes come in the order of the ring. Room is up to `bound` per cent of an even share of what is
under way.
"""

from __future__ import annotations

from collections.abc import Sequence

from flex.sim.engine_input_and_output import SimulatedJob, units
from flex.sim.rules.rule import AccessAsked, View


class Bounded:
    def __init__(self, job: SimulatedJob) -> None:
        self._bound = job.bound

    def choose(self, request: AccessAsked, nodes: Sequence[int], view: View) -> int:
        total = sum(view.load[node] for node in nodes)
        most = units((total + 1) * self._bound, 100 * len(nodes))
        return next((node for node in nodes if view.load[node] < most), nodes[0])

"""Locality-aware request distribution (Pai and others, ASPLOS 1998, figure 2): each key has one
node until that node is overloaded. Then the key moves to the least loaded node. The first node of a
key is one that has it in memory beforehand, where there is one.
"""

from __future__ import annotations

from collections.abc import Sequence

from flex.sim.engine_input_and_output import SimulatedJob
from flex.sim.rules.rule import AccessAsked, View, least_loaded


class Lard:
    def __init__(self, job: SimulatedJob) -> None:
        self._job = job
        self._server: dict[int, int] = {}

    def choose(self, request: AccessAsked, nodes: Sequence[int], view: View) -> int:
        server = self._server.get(request.key)
        if server is None:
            server = self._server[request.key] = self._first(request.target, nodes, view)
        if overloaded(self._job, view, nodes, server):
            server = self._server[request.key] = least_loaded(nodes, view.load)
        return server

    def _first(self, target: int, nodes: Sequence[int], view: View) -> int:
        row = target * len(self._job.ram)
        filled = (node for node in nodes if len(self._job.pinned) and self._job.pinned[row + node])
        return next(filled, least_loaded(nodes, view.load))


def overloaded(job: SimulatedJob, view: View, nodes: Sequence[int], node: int) -> bool:
    """Far busier than it should be while another has little to do, or far too busy whatever the
    others do.
    """
    load = view.load[node]
    return load >= 2 * job.high or (
        load > job.high and any(view.load[other] < job.low for other in nodes)
    )

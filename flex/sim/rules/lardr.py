"""LARD with replication (Pai and others, ASPLOS 1998, figure 3): each key has a set of nodes, which
grows when its least loaded is overloaded, and loses its most loaded when it has not changed for a
while.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from flex.sim.engine_input_and_output import SimulatedJob
from flex.sim.rules.lard import overloaded
from flex.sim.rules.rule import AccessAsked, View, least_loaded


@dataclass(slots=True)
class _Servers:
    nodes: list[int]
    changed: int


class LardR:
    def __init__(self, job: SimulatedJob) -> None:
        self._job = job
        self._servers: dict[int, _Servers] = {}

    def choose(self, request: AccessAsked, nodes: Sequence[int], view: View) -> int:
        servers = self._servers.get(request.key)
        if servers is None:
            first = least_loaded(nodes, view.load)
            self._servers[request.key] = _Servers([first], view.now)
            return first
        return self._choose_server(servers, nodes, view)

    def _choose_server(self, servers: _Servers, nodes: Sequence[int], view: View) -> int:
        before = list(servers.nodes)
        node = least_loaded(servers.nodes, view.load)
        most = max(servers.nodes, key=view.load.__getitem__)
        if overloaded(self._job, view, nodes, node):
            node = least_loaded(nodes, view.load)
            if node not in servers.nodes:
                servers.nodes.append(node)
        if len(servers.nodes) > 1 and view.now - servers.changed > self._job.patience:
            servers.nodes.remove(most)
        if servers.nodes != before:
            servers.changed = view.now
        return node

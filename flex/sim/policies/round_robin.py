"""Round robin as it should be: each access to the next node."""

from __future__ import annotations

from flex.sim.cluster import Cluster
from flex.sim.routing import Place, Routing, by_one
from flex.sim.traces import Trace


def round_robin(trace: Trace, cluster: Cluster, place: Place) -> Routing:
    return by_one(trace, cluster, "turn")

"""The node with the fewest connections for its speed."""

from __future__ import annotations

from flex.sim.cluster import Cluster
from flex.sim.routing import Place, Routing, by_one
from flex.sim.traces import Trace


def least_connections(trace: Trace, cluster: Cluster, place: Place) -> Routing:
    return by_one(trace, cluster, "least")

"""The best there could be: one memory of the size of all, and every access to the least busy node."""

from __future__ import annotations

from flex.sim.cluster import Cluster
from flex.sim.job import SHARED
from flex.sim.routing import Place, Routing, by_one
from flex.sim.traces import Trace


def optimal(trace: Trace, cluster: Cluster, place: Place) -> Routing:
    return by_one(trace, cluster, "least", memory=SHARED)

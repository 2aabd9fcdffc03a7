"""Weighted round robin, past nodes that have more under way than their share: the LARD paper's
rival.
"""

from __future__ import annotations

from flex.sim.cluster import Cluster
from flex.sim.routing import Place, Routing, by_one
from flex.sim.traces import Trace


def wrr(trace: Trace, cluster: Cluster, place: Place) -> Routing:
    return by_one(trace, cluster, "weighted")

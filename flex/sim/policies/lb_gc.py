"""Locality by what is in memory (LB/GC in the LARD paper): a front end that knows every node's
cache.
"""

from __future__ import annotations

from flex.sim.cluster import Cluster
from flex.sim.routing import Place, Routing, by_one
from flex.sim.traces import Trace


def lb_gc(trace: Trace, cluster: Cluster, place: Place) -> Routing:
    return by_one(trace, cluster, "cached")

"""Locality-aware request distribution: each target has one node."""

from __future__ import annotations

from flex.sim.cluster import Cluster
from flex.sim.routing import Place, Routing, by_target
from flex.sim.traces import Trace


def lard(trace: Trace, cluster: Cluster, place: Place) -> Routing:
    return by_target(trace, cluster, "lard")

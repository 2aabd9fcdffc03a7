"""Locality-aware request distribution with replication: each target has a set of nodes."""

from __future__ import annotations

from flex.sim.cluster import Cluster
from flex.sim.routing import Place, Routing, by_target
from flex.sim.traces import Trace


def lard_r(trace: Trace, cluster: Cluster, place: Place) -> Routing:
    return by_target(trace, cluster, "lard_r")

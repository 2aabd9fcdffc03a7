"""FLEX with LARD inside: a site on several nodes is split among these target by target."""

from __future__ import annotations

from flex.sim.cluster import Cluster
from flex.sim.routing import Place, Routing, among
from flex.sim.traces import Trace


def flex_lard(trace: Trace, cluster: Cluster, place: Place) -> Routing:
    nodes = place(trace, cluster)
    return among(trace.target, "lard", [nodes[site] for site in trace.site.tolist()])

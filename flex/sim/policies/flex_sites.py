"""FLEX: each site on the node that the solver gave it; accesses to a site on several nodes at
random among these.
"""

from __future__ import annotations

from flex.sim.cluster import Cluster
from flex.sim.routing import Place, Routing, among
from flex.sim.traces import Trace


def flex_sites(trace: Trace, cluster: Cluster, place: Place) -> Routing:
    return among(trace.site[trace.target], "dice", place(trace, cluster))

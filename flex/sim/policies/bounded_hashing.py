"""Consistent hashing with bounded loads: each target has its own order of the nodes; the first with room serves it."""

from __future__ import annotations

import numpy as np

from flex.sim.cluster import Cluster
from flex.sim.routing import Place, Routing, among, mixed
from flex.sim.traces import Trace


def bounded_hashing(trace: Trace, cluster: Cluster, place: Place) -> Routing:
    # The order by a hash of target and node: a node that comes or goes changes nobody else's order.
    pairs = np.arange(len(trace.size) * cluster.nodes).reshape(len(trace.size), cluster.nodes)
    order = np.argsort(mixed(pairs), axis=1, kind="stable")
    return among(trace.target, "bounded", order.tolist())

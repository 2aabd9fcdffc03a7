"""Locality by a hash of the target (LB in the LARD paper): load is not looked at."""

from __future__ import annotations

import numpy as np

from flex.sim.cluster import Cluster
from flex.sim.routing import Place, Routing, among, hash_numbers
from flex.sim.traces import Trace


def lb(trace: Trace, cluster: Cluster, place: Place) -> Routing:
    node = hash_numbers(np.arange(len(trace.size))) % cluster.nodes
    return among(trace.target, "turn", [[n] for n in node.tolist()])

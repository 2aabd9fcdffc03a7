"""WARD (Cherkasova and Karlsson, WECWIS 2001): a small core of the most frequent targets is served
by every node, each other target by one.

The core is a twentieth of the targets, as in the CWARD paper.
"""

from __future__ import annotations

from flex.sim.cluster import Cluster
from flex.sim.policies.core import core_and_parts
from flex.sim.routing import Place, Routing
from flex.sim.traces import Trace


def ward(trace: Trace, cluster: Cluster, place: Place) -> Routing:
    return core_and_parts(trace, cluster, prefetches=False)

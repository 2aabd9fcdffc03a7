"""CWARD/CR: as WARD, and the core is in every node's memory beforehand where memory is set apart
for it.
"""

from __future__ import annotations

from flex.sim.cluster import Cluster
from flex.sim.policies.core import core_and_parts
from flex.sim.routing import Place, Routing
from flex.sim.traces import Trace


def cward_cr(trace: Trace, cluster: Cluster, place: Place) -> Routing:
    return core_and_parts(trace, cluster, prefetches=True)

"""CAP (Casalicchio and Colajanni, WWW 2001): four classes of requests, each in turn over all nodes.

A target is a matter of the disk when it is larger than the mean, and of the processor when it is
dynamic.
"""

from __future__ import annotations

import numpy as np

from flex.sim.access_rules import Place, RoutedAccesses, route_among_sets
from flex.sim.simulated_clusters import SimulatedCluster
from flex.sim.traces import Trace


def cap(trace: Trace, cluster: SimulatedCluster, place: Place) -> RoutedAccesses:
    disk = trace.size > trace.size.mean()
    processor = trace.work_of_targets() > 0
    kind = disk.astype(np.int64) + 2 * processor.astype(np.int64)
    return route_among_sets(kind[trace.target], "turn", [range(cluster.nodes)] * 4)

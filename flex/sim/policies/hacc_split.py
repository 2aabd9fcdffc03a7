"""HACC with dynamic documents kept apart (USENIX NT 1999, section 4.5): static ones on the first
node, dynamic ones on the others.
"""

from __future__ import annotations

import numpy as np

from flex.sim.cluster import Cluster
from flex.sim.routing import Place, Routing, among
from flex.sim.traces import Trace


def hacc_split(trace: Trace, cluster: Cluster, place: Place) -> Routing:
    apart = [[0], list(range(1, cluster.nodes)) or [0]]
    return among(
        (trace.work_of_targets() > 0).astype(np.int64)[trace.target], "least", apart
    )

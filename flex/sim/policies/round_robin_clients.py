"""Round robin as DNS does it: a client asks a name server once, and stays with the node it was
told.
"""

from __future__ import annotations

import numpy as np

from flex.errors import BadInput
from flex.sim.access_rules import Place, RoutedAccesses, route_among_sets
from flex.sim.simulated_clusters import SimulatedCluster
from flex.sim.traces import Trace


def round_robin_clients(trace: Trace, cluster: SimulatedCluster, place: Place) -> RoutedAccesses:
    if not len(trace.client):
        raise BadInput(
            f"round robin per client over the trace {trace.name}",
            "the trace does not say which client asked",
            kept="nothing was simulated",
            advice="take round_robin, which needs no clients, or a trace that has them",
        )
    _, seen, key = np.unique(trace.client, return_index=True, return_inverse=True)
    # In the order they come, clients are told one node after the other.
    turn = np.argsort(np.argsort(seen))
    return route_among_sets(key, "turn", [[node] for node in (turn % cluster.nodes).tolist()])

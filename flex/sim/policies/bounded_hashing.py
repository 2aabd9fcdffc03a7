"""Consistent hashing with bounded loads: each target has its own order of the nodes; the first with
room serves it.
"""

from __future__ import annotations

import numpy as np

from flex.prediction.replay import Ints
from flex.sim.cluster import Cluster
from flex.sim.routing import Place, Routing, everywhere, hash_numbers, rules_of
from flex.sim.traces import Trace

# Pairs of a target and a node that are put in order at a time.
_AT_ONCE = 2_000_000


def bounded_hashing(trace: Trace, cluster: Cluster, place: Place) -> Routing:
    # The order by a hash of target and node: a node that comes or goes changes nobody else's order.
    targets = len(trace.size)
    first, option = everywhere(targets, cluster.nodes)
    order = option.reshape(targets, cluster.nodes)
    for some in np.array_split(
        np.arange(targets), max(targets * cluster.nodes // _AT_ONCE, 1)
    ):
        order[some] = _order(some, cluster.nodes)
    return Routing(
        trace.target, rules_of(["bounded"], np.zeros_like(trace.size)), first, option
    )


def _order(targets: Ints, nodes: int) -> Ints:
    pairs = targets[:, None] * nodes + np.arange(nodes)
    return np.argsort(hash_numbers(pairs), axis=1, kind="stable").astype(np.int64)

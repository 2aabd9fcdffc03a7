"""Policies that find the node of a target by a hash of it.

Takes a trace and a cluster. Returns for each target one node, or all nodes in an order of its own.
Does not look at what the nodes have in memory.
"""

from __future__ import annotations

import numpy as np

from flex.prediction.cache_replay import Ints
from flex.sim.access_rules import (
    Place,
    RoutedAccesses,
    everywhere,
    hash_numbers,
    route_among_sets,
    rules_of,
)
from flex.sim.simulated_clusters import SimulatedCluster
from flex.sim.traces import Trace

# Pairs of a target and a node that are sorted at a time; sixteen bytes each, so 32 MB. A guess.
_AT_ONCE = 2_000_000


def hash_of_target(trace: Trace, cluster: SimulatedCluster, place: Place) -> RoutedAccesses:
    """One node for each target, whatever its load (LB in the LARD paper)."""
    node = hash_numbers(np.arange(len(trace.size))) % cluster.nodes
    return route_among_sets(trace.target, "turn", [[n] for n in node.tolist()])


def bounded_hashing(trace: Trace, cluster: SimulatedCluster, place: Place) -> RoutedAccesses:
    """Consistent hashing with bounded loads: the first node in the target's order that has room."""
    # The order by a hash of target and node: a node that comes or goes changes nobody else's order.
    targets = len(trace.size)
    first, option = everywhere(targets, cluster.nodes)
    order = option.reshape(targets, cluster.nodes)
    for some in np.array_split(np.arange(targets), max(targets * cluster.nodes // _AT_ONCE, 1)):
        order[some] = _order(some, cluster.nodes)
    return RoutedAccesses(
        trace.target, rules_of(["bounded"], np.zeros_like(trace.size)), first, option
    )


def _order(targets: Ints, nodes: int) -> Ints:
    pairs = targets[:, None] * nodes + np.arange(nodes)
    return np.argsort(hash_numbers(pairs), axis=1, kind="stable").astype(np.int64)

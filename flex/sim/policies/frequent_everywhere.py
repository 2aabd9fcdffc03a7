"""Frequent targets on every node, each of the others on one: what WARD and CWARD/CR share.

Takes a trace and a cluster, and whether memory is filled beforehand. Returns the nodes of each
target. Does not follow a target that becomes frequent while the trace is served.
"""

from __future__ import annotations

import numpy as np

from flex.sim.access_rules import Place, RoutedAccesses, rules_of, runs
from flex.sim.simulated_clusters import SimulatedCluster
from flex.sim.traces import Trace

# The core's share of all targets: a twentieth, as in the CWARD paper.
_SHARE = 0.05


def core_and_parts(trace: Trace, cluster: SimulatedCluster, *, prefetches: bool) -> RoutedAccesses:
    rank = np.empty(len(trace.size), dtype=np.int64)
    rank[np.argsort(-trace.frequency(), kind="stable")] = np.arange(len(trace.size))
    core = rank < _SHARE * len(trace.size)
    first, option = runs(rank % cluster.nodes, np.where(core, cluster.nodes, 1), cluster.nodes)
    # Every node serves the core, so the least busy may; the others have one node, whatever the
    # rule.
    rule = rules_of(["least"], np.zeros_like(rank))
    return RoutedAccesses(trace.target, rule, first, option, prefetches=prefetches)


def ward(trace: Trace, cluster: SimulatedCluster, place: Place) -> RoutedAccesses:
    return core_and_parts(trace, cluster, prefetches=False)


def cward_cr(trace: Trace, cluster: SimulatedCluster, place: Place) -> RoutedAccesses:
    """As WARD, and every node has the core in memory beforehand, as far as memory is set apart."""
    return core_and_parts(trace, cluster, prefetches=True)

"""Frequent targets on every node, each of the others on one: what WARD, CWARD/CR and CWARD/PCR
share.

Takes a trace and a cluster. Returns the nodes of each target, and which targets its nodes have in
memory beforehand. Does not follow a target that becomes frequent while the trace is served.

The CWARD paper calls the most frequent targets the core and the others the part. It gives both as
shares of all targets of the trace: the core that every node has beforehand, and the part that each
node has beforehand (section 4.3). Of the part a node has the most frequent of its own. What memory
is not set apart for is left out.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from flex.sim.access_rules import Place, RoutedAccesses, rules_of, runs
from flex.sim.policies.frequent_on_more_nodes import is_large
from flex.sim.simulated_clusters import SimulatedCluster
from flex.sim.traces import Trace


@dataclass(frozen=True, slots=True)
class CoreAndPart:
    """Shares of all targets: of the core, and of the part of each node."""

    core: float
    part: float


# "core5%/part4%", for ClarkNet. WARD has the same core: its own paper computes one for each trace.
_REPLICATED = CoreAndPart(0.05, 0.04)
# "core3%/part1%", for the targets of WorldCup98 that are not large.
_PARTITIONED = CoreAndPart(0.03, 0.01)


def core_and_parts(
    trace: Trace, cluster: SimulatedCluster, shares: CoreAndPart, *, large: bool, prefetches: bool
) -> RoutedAccesses:
    """Targets by core and part, and by LARD-Threshold those larger than the mean where `large` says
    so.
    """
    count, nodes = len(trace.size), cluster.nodes
    lard = is_large(trace) if large else np.zeros(count, dtype=np.bool_)
    rank = np.empty(count, dtype=np.int64)
    rank[np.lexsort((-trace.frequency(), lard))] = np.arange(count)
    core = (rank < shares.core * count) & ~lard
    first, option = runs(rank % nodes, np.where(core | lard, nodes, 1), nodes)
    # Every node serves the core, so the least busy may; the others have one node, whatever the
    # rule.
    rule = rules_of(["least", "lard"], lard.astype(np.int64))
    prefetched = lard | (rank < (shares.core + shares.part * nodes) * count)
    return RoutedAccesses(
        trace.target, rule, first, option, prefetched=prefetched if prefetches else None
    )


def ward(trace: Trace, cluster: SimulatedCluster, place: Place) -> RoutedAccesses:
    return core_and_parts(trace, cluster, _REPLICATED, large=False, prefetches=False)


def cward_cr(trace: Trace, cluster: SimulatedCluster, place: Place) -> RoutedAccesses:
    return core_and_parts(trace, cluster, _REPLICATED, large=False, prefetches=True)


def cward_pcr(trace: Trace, cluster: SimulatedCluster, place: Place) -> RoutedAccesses:
    return core_and_parts(trace, cluster, _PARTITIONED, large=True, prefetches=True)

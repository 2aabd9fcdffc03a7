"""Frequent targets on every node, each of the others on one."""

from __future__ import annotations

import numpy as np

from flex.sim.cluster import Cluster
from flex.sim.routing import Routing, rules_of, runs
from flex.sim.traces import Trace

_SHARE = 0.05


def core_and_parts(trace: Trace, cluster: Cluster, *, prefetches: bool) -> Routing:
    rank = np.empty(len(trace.size), dtype=np.int64)
    rank[np.argsort(-trace.frequency(), kind="stable")] = np.arange(len(trace.size))
    core = rank < _SHARE * len(trace.size)
    first, option = runs(
        rank % cluster.nodes, np.where(core, cluster.nodes, 1), cluster.nodes
    )
    # Every node serves the core, so the least busy may; the others have one node, whatever the
    # rule.
    rule = rules_of(["least"], np.zeros_like(rank))
    return Routing(trace.target, rule, first, option, prefetches=prefetches)

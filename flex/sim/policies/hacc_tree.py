"""HACC (Zhang and others, USENIX NT 1999): a tree of the name space has the node of each document.

Takes a trace and a cluster. Returns two policies: one tree for all documents, and static documents
apart from dynamic ones. Does not decide when an overloaded node hands documents over: the rule hacc
does.

A static document is a leaf with a node of its own. A dynamic one is where its branch is, here its
site: the paper's tree of a database ends at the view. A new document goes to the least loaded node.
Load is that of the disk for static documents, and half processor and half disk where some are
dynamic, as in the paper.
"""

from __future__ import annotations

import numpy as np

from flex.sim.access_rules import Place, RoutedAccesses, everywhere, route_among_sets, rules_of
from flex.sim.simulated_clusters import SimulatedCluster
from flex.sim.traces import Trace


def hacc(trace: Trace, cluster: SimulatedCluster, place: Place) -> RoutedAccesses:
    documents = len(trace.size)
    dynamic = trace.work_of_targets() > 0
    in_tree = np.where(dynamic, documents + trace.site, np.arange(documents))
    keys = documents + len(trace.sites)
    rule = rules_of(["hacc"], np.zeros(keys, dtype=np.int64))
    first, option = everywhere(keys, cluster.nodes)
    return RoutedAccesses(
        in_tree[trace.target], rule, first, option, cpu_share=50 if dynamic.any() else 0
    )


def hacc_split(trace: Trace, cluster: SimulatedCluster, place: Place) -> RoutedAccesses:
    """Static documents on the first node, dynamic ones on the others (section 4.5 of the paper)."""
    others = list(range(1, cluster.nodes)) or [0]
    dynamic = (trace.work_of_targets() > 0).astype(np.int64)
    return route_among_sets(dynamic[trace.target], "least", [[0], others])

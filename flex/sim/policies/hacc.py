"""HACC (USENIX NT 1999): a tree of the name space has the node of each document; overloaded nodes
hand some over.

A static document is a leaf with a node of its own. A dynamic one is where its branch is, its site
here: of a database the paper's tree goes no further down than to the view. What is new goes to the
least loaded node. Load is the disk's for static documents, and half processor and half disk where
some are dynamic, as in the paper.
"""

from __future__ import annotations

import numpy as np

from flex.sim.cluster import Cluster
from flex.sim.routing import Place, Routing, everywhere, rules_of
from flex.sim.traces import Trace


def hacc(trace: Trace, cluster: Cluster, place: Place) -> Routing:
    documents = len(trace.size)
    dynamic = trace.work_of_targets() > 0
    in_tree = np.where(dynamic, documents + trace.site, np.arange(documents))
    keys = documents + len(trace.sites)
    rule = rules_of(["hacc"], np.zeros(keys, dtype=np.int64))
    first, option = everywhere(keys, cluster.nodes)
    return Routing(
        in_tree[trace.target], rule, first, option, cpu_share=50 if dynamic.any() else 0
    )

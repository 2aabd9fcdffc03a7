"""HACC (USENIX NT 1999): each document has a node, new ones the least loaded, and overloaded nodes hand some over.

Load is the disk's for static documents, and half processor and half disk where some are dynamic, as in the paper."""

from __future__ import annotations

from flex.sim.cluster import Cluster
from flex.sim.routing import Place, Routing, by_target
from flex.sim.traces import Trace


def hacc(trace: Trace, cluster: Cluster, place: Place) -> Routing:
    return by_target(trace, cluster, "hacc", cpu_share=50 if trace.work_of_targets().any() else 0)

"""CWARD/PFSR: targets larger than the mean by LARD-Threshold, the others by CWARD/FSR."""

from __future__ import annotations

from flex.sim.cluster import Cluster
from flex.sim.policies.replicated import by_worth, frequency_by_size
from flex.sim.routing import Place, Routing
from flex.sim.traces import Trace


def cward_pfsr(trace: Trace, cluster: Cluster, place: Place) -> Routing:
    return by_worth(trace, cluster, frequency_by_size(trace), large=True)

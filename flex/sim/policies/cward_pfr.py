"""CWARD/PFR: targets larger than the mean by LARD-Threshold, the others by CWARD/FR."""

from __future__ import annotations

from flex.sim.cluster import Cluster
from flex.sim.policies.replicated import by_worth, frequency
from flex.sim.routing import Place, Routing
from flex.sim.traces import Trace


def cward_pfr(trace: Trace, cluster: Cluster, place: Place) -> Routing:
    return by_worth(trace, cluster, frequency(trace), large=True)

"""Weighted round robin over nodes that fetch from each other what another has in memory (WRR/GMS in
the LARD paper).

The paper does not say what fetching costs. Here the node that has it sends it as it would to a
client, and taking it in costs the other as much; the directory costs nothing, and a copy stays with
the node that asked.
"""

from __future__ import annotations

from flex.sim.cluster import Cluster
from flex.sim.job import FETCHING
from flex.sim.routing import Place, Routing, by_one
from flex.sim.traces import Trace


def wrr_gms(trace: Trace, cluster: Cluster, place: Place) -> Routing:
    return by_one(trace, cluster, "weighted", memory=FETCHING)

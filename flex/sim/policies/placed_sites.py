"""FLEX itself: each site on the nodes that a solver gave it.

Takes a trace, a cluster and the solver. Returns two policies, which differ for a site on several
nodes: an access goes to any of these at random, or LARD splits the site among them by target. Does
not move a site while the trace is served.
"""

from __future__ import annotations

from flex.sim.access_rules import Place, RoutedAccesses, route_among_sets
from flex.sim.simulated_clusters import SimulatedCluster
from flex.sim.traces import Trace


def flex_sites(trace: Trace, cluster: SimulatedCluster, place: Place) -> RoutedAccesses:
    return route_among_sets(trace.site[trace.target], "dice", place(trace, cluster))


def flex_lard(trace: Trace, cluster: SimulatedCluster, place: Place) -> RoutedAccesses:
    nodes = place(trace, cluster)
    return route_among_sets(trace.target, "lard", [nodes[site] for site in trace.site.tolist()])

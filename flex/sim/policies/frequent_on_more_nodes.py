"""The more a target is asked for, the more nodes serve it: the CWARD policies.

Takes a trace and a cluster. Returns the nodes that serve each target. Does not follow a target that
becomes frequent while the trace is served.

The paper's equations, with its normalisation by logarithms: a target that is worth w is served by
log(w) / log(largest w) of the nodes, rounded up. Sets of nodes are handed out around the cluster.

The paper says that LARD-Threshold keeps large targets above a threshold at one node beforehand. It
does not say which threshold. Here it is what fits: the most frequent, as far as memory is set
apart. LARD finds them at that node, and hands them on when the node is overloaded. Large targets
that are asked for less often begin anywhere, as with LARD.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from flex.placing.problem import Floats
from flex.prediction.cache_replay import Ints
from flex.sim.access_rules import Place, RoutedAccesses, rules_of, runs
from flex.sim.simulated_clusters import SimulatedCluster
from flex.sim.traces import Trace

if TYPE_CHECKING:
    import numpy.typing as npt


def route_by_worth(
    trace: Trace, cluster: SimulatedCluster, worth: Floats, *, large: bool
) -> RoutedAccesses:
    """Targets by their worth, and by LARD-Threshold those larger than the mean where `large` says
    so.
    """
    count = _copies(worth, trace.frequency() > 0, cluster.nodes)
    lard = is_large(trace) if large else np.zeros(len(worth), dtype=np.bool_)
    # A large target's first node is where it is kept beforehand.
    kept = np.where(lard, 1, count)
    start = (np.cumsum(kept) - kept) % cluster.nodes
    first, option = runs(start, np.where(lard, cluster.nodes, count), cluster.nodes)
    rule = rules_of(["turn", "lard"], lard.astype(np.int64))
    every = np.ones_like(lard)
    return RoutedAccesses(trace.target, rule, first, option, prefetched=every)


def is_large(trace: Trace) -> npt.NDArray[np.bool_]:
    """Return which targets are larger than the mean, the paper's threshold (section 3.3)."""
    large: npt.NDArray[np.bool_] = trace.size > trace.size.mean()
    return large


def frequency(trace: Trace) -> Floats:
    return trace.frequency().astype(np.float64)


def frequency_by_size(trace: Trace) -> Floats:
    return trace.frequency() / np.maximum(trace.size, 1)


def _copies(worth: Floats, is_accessed: npt.NDArray[np.bool_], nodes: int) -> Ints:
    """A worth below that of the least is one copy; logarithms begin there, for a worth may be below
    one.
    """
    least = worth[is_accessed].min()
    scaled = np.log10(np.maximum(worth, least) / least)
    top = scaled.max()
    share = scaled / top if top > 0 else scaled
    copies: Ints = np.clip(np.ceil(share * nodes), 1, nodes).astype(np.int64)
    return copies


def cward_fr(trace: Trace, cluster: SimulatedCluster, place: Place) -> RoutedAccesses:
    return route_by_worth(trace, cluster, frequency(trace), large=False)


def cward_fsr(trace: Trace, cluster: SimulatedCluster, place: Place) -> RoutedAccesses:
    return route_by_worth(trace, cluster, frequency_by_size(trace), large=False)


def cward_pfr(trace: Trace, cluster: SimulatedCluster, place: Place) -> RoutedAccesses:
    return route_by_worth(trace, cluster, frequency(trace), large=True)


def cward_pfsr(trace: Trace, cluster: SimulatedCluster, place: Place) -> RoutedAccesses:
    return route_by_worth(trace, cluster, frequency_by_size(trace), large=True)

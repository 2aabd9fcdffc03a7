"""The routing policies of the simulator: which node serves an access.

Takes a trace, a cluster and the solver that places sites. Returns which rule (flex.sim.rules)
decides among which nodes. Does not see the cluster at work: the rules do.

A policy is one line of the table; one that computes something has a file too.
"""

from __future__ import annotations

from collections.abc import Callable

from flex.sim.costs_of_nodes import Cluster
from flex.sim.engine_input_and_output import FETCHING, OWN, SHARED
from flex.sim.policies.cap import cap
from flex.sim.policies.frequent_everywhere import cward_cr, ward
from flex.sim.policies.frequent_on_more_nodes import (
    cward_fr,
    cward_fsr,
    cward_pfr,
    cward_pfsr,
)
from flex.sim.policies.hacc_tree import hacc, hacc_split
from flex.sim.policies.hashing import bounded_hashing, hash_of_target
from flex.sim.policies.placed_sites import flex_lard, flex_sites
from flex.sim.policies.round_robin_clients import round_robin_clients
from flex.sim.policy_as_rules import Place, Routing, by_one, by_target
from flex.sim.traces import Trace

Policy = Callable[[Trace, Cluster, Place], Routing]


def for_all(rule: str, *, memory: int = OWN) -> Policy:
    """One rule for every access, among all nodes."""
    return lambda trace, cluster, _: by_one(trace, cluster, rule, memory=memory)


def for_each_target(rule: str) -> Policy:
    """A rule that remembers each target, among all nodes."""
    return lambda trace, cluster, _: by_target(trace, cluster, rule)


# "The LARD paper" is Pai and others, ASPLOS 1998.
POLICIES: dict[str, Policy] = {
    # Each access to the next node.
    "round_robin": for_all("turn"),
    # As DNS does it: a client stays with the node that it was given.
    "round_robin_clients": round_robin_clients,
    # Weighted round robin, past nodes that have more under way than their share (the LARD paper).
    "wrr": for_all("weighted"),
    # The node with the fewest connections for its speed.
    "least_connections": for_all("least"),
    # Locality by a hash of the target (the LARD paper).
    "lb": hash_of_target,
    # Locality by what is in memory: a front end that knows every node's cache (the LARD paper).
    "lb_gc": for_all("cached"),
    # The LARD paper does not say what it costs to fetch from another node's memory. Here the node
    # that has the target sends it as it would to a client, and taking it in costs the other as
    # much. The directory costs nothing, and a copy stays with the node that asked.
    "wrr_gms": for_all("weighted", memory=FETCHING),
    # Each target has one node (the LARD paper).
    "lard": for_each_target("lard"),
    # Each target has a set of nodes, which grows and shrinks (the LARD paper: LARD/R).
    "lardr": for_each_target("lardr"),
    "bounded_hashing": bounded_hashing,
    # Cherkasova and Karlsson, WECWIS 2001: the most frequent targets on every node.
    "ward": ward,
    "cward_cr": cward_cr,
    # The more frequent a target, the more nodes serve it, in turn.
    "cward_fr": cward_fr,
    # The more frequent and the smaller a target, the more nodes serve it, in turn.
    "cward_fsr": cward_fsr,
    # Targets larger than the mean by LARD-Threshold, the others by CWARD/FR.
    "cward_pfr": cward_pfr,
    # Targets larger than the mean by LARD-Threshold, the others by CWARD/FSR.
    "cward_pfsr": cward_pfsr,
    # Casalicchio and Colajanni, WWW 2001: four classes of requests, each in turn over all nodes.
    "cap": cap,
    # Zhang and others, USENIX NT 1999.
    "hacc": hacc,
    "hacc_split": hacc_split,
    "flex": flex_sites,
    "flex_lard": flex_lard,
    # The best there could be: all memory is one, and each access goes to the least busy node.
    "optimal": for_all("least", memory=SHARED),
}

# Names that policies had once; whoever wrote them down is understood.
FORMER_NAMES = {"lard_r": "lardr"}

"""The routing policies of the simulator: which node serves an access.

Takes a trace, a cluster and the solver that places sites. Returns which rule (flex.sim.rules)
decides among which nodes. Does not see the cluster at work: the rules do.

A policy is one entry of the table; one that computes something has a file too. Command line, API
and pages know it from there, with what it says of itself.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from flex.sim.access_rules import Place, RoutedAccesses, route_by_one_rule, route_by_target
from flex.sim.engine_input_and_output import FETCHING, OWN, SHARED
from flex.sim.policies.cap import cap
from flex.sim.policies.frequent_everywhere import cward_cr, cward_pcr, ward
from flex.sim.policies.frequent_on_more_nodes import cward_fr, cward_fsr, cward_pfr, cward_pfsr
from flex.sim.policies.hacc_tree import hacc, hacc_split
from flex.sim.policies.hashing import bounded_hashing, hash_of_target
from flex.sim.policies.placed_sites import flex_lard, flex_sites
from flex.sim.policies.round_robin_clients import round_robin_clients
from flex.sim.simulated_clusters import SimulatedCluster
from flex.sim.traces import Trace

Rules = Callable[[Trace, SimulatedCluster, Place], RoutedAccesses]


@dataclass(frozen=True, slots=True)
class Policy:
    """`about` is what people read of it. `needs_clients` says that it asks who sent each request,
    which not every trace tells.
    """

    routing: Rules
    about: str
    needs_clients: bool = False


def common_rule(rule: str, *, memory: int = OWN) -> Rules:
    """One rule for every access, among all nodes."""
    return lambda trace, cluster, _: route_by_one_rule(trace, cluster, rule, memory=memory)


def rule_per_target(rule: str) -> Rules:
    """A rule that remembers each target, among all nodes."""
    return lambda trace, cluster, _: route_by_target(trace, cluster, rule)


# "The LARD paper" is Pai and others, ASPLOS 1998.
POLICIES: dict[str, Policy] = {
    "round_robin": Policy(
        common_rule("turn"), "each request to the next node, as DNS does without FLEX"
    ),
    "round_robin_clients": Policy(
        round_robin_clients, "each client stays with the node that DNS gave it", needs_clients=True
    ),
    # Weighted round robin, past nodes that have more under way than their share (the LARD paper).
    "wrr": Policy(common_rule("weighted"), "round robin past busy nodes"),
    # For their speed.
    "least_connections": Policy(common_rule("least"), "the node with the fewest connections"),
    # The LARD paper.
    "lb": Policy(hash_of_target, "a hash of the file says the node"),
    # A front end that knows every node's cache (the LARD paper).
    "lb_gc": Policy(common_rule("cached"), "the node that has the file in memory"),
    # The LARD paper does not say what it costs to fetch from another node's memory. Here the node
    # that has the target sends it as it would to a client, and taking it in costs the other as
    # much. The directory costs nothing, and a copy stays with the node that asked.
    "wrr_gms": Policy(
        common_rule("weighted", memory=FETCHING), "as wrr, and nodes fetch from each other's memory"
    ),
    # The LARD paper.
    "lard": Policy(
        rule_per_target("lard"),
        "each file has its node, as a distributor that reads requests does it",
    ),
    # LARD/R of the LARD paper: the set of nodes of a target grows and shrinks.
    "lardr": Policy(rule_per_target("lardr"), "as lard, with several nodes for busy files"),
    "bounded_hashing": Policy(bounded_hashing, "as lb, past nodes that are full"),
    # Cherkasova and Karlsson, WECWIS 2001: the most frequent targets on every node.
    "ward": Policy(ward, "the busiest files everywhere, each other on one node"),
    "cward_cr": Policy(cward_cr, "as ward, the busiest files read beforehand"),
    # The nodes of a target serve it in turn, here and in the next three.
    "cward_fr": Policy(cward_fr, "the busier a file, the more nodes"),
    "cward_fsr": Policy(cward_fsr, "the busier and smaller a file, the more nodes"),
    # Targets larger than the mean by LARD-Threshold, here and in the next two.
    "cward_pcr": Policy(cward_pcr, "large files as lard, others as cward_cr"),
    "cward_pfr": Policy(cward_pfr, "large files as lard, others as cward_fr"),
    "cward_pfsr": Policy(cward_pfsr, "large files as lard, others as cward_fsr"),
    # Casalicchio and Colajanni, WWW 2001.
    "cap": Policy(cap, "each of four classes of requests in turn over all nodes"),
    # Zhang and others, USENIX NT 1999.
    "hacc": Policy(hacc, "each file has its node, busy nodes hand some over"),
    "hacc_split": Policy(hacc_split, "static files on one node, dynamic ones on the others"),
    "flex": Policy(flex_sites, "each site has its node, as FLEX does it"),
    "flex_lard": Policy(flex_lard, "as flex, and as lard among the nodes of a site"),
    # Each access goes to the least busy node.
    "optimal": Policy(
        common_rule("least", memory=SHARED), "as if all memory were one: nobody can do better"
    ),
}

# Names that policies had once; whoever wrote them down is understood.
FORMER_NAMES = {"lard_r": "lardr"}

"""Routing policies: which node serves an access.

A policy is one file and one line here. It says which rules (flex.sim.rules) decide among which
nodes; it never sees the cluster at work, which the rules do.
"""

from __future__ import annotations

from collections.abc import Callable

from flex.sim.cluster import Cluster
from flex.sim.policies.bounded_hashing import bounded_hashing
from flex.sim.policies.cap import cap
from flex.sim.policies.clients import round_robin_clients
from flex.sim.policies.cward_cr import cward_cr
from flex.sim.policies.cward_fr import cward_fr
from flex.sim.policies.cward_fsr import cward_fsr
from flex.sim.policies.cward_pfr import cward_pfr
from flex.sim.policies.cward_pfsr import cward_pfsr
from flex.sim.policies.flex_lard import flex_lard
from flex.sim.policies.flex_sites import flex_sites
from flex.sim.policies.hacc import hacc
from flex.sim.policies.hacc_split import hacc_split
from flex.sim.policies.lard import lard
from flex.sim.policies.lard_r import lard_r
from flex.sim.policies.lb import lb
from flex.sim.policies.lb_gc import lb_gc
from flex.sim.policies.least_connections import least_connections
from flex.sim.policies.optimal import optimal
from flex.sim.policies.round_robin import round_robin
from flex.sim.policies.ward import ward
from flex.sim.policies.wrr import wrr
from flex.sim.policies.wrr_gms import wrr_gms
from flex.sim.routing import Place, Routing
from flex.sim.traces import Trace

Policy = Callable[[Trace, Cluster, Place], Routing]

POLICIES: dict[str, Policy] = {
    "round_robin": round_robin,
    "round_robin_clients": round_robin_clients,
    "wrr": wrr,
    "least_connections": least_connections,
    "lb": lb,
    "lb_gc": lb_gc,
    "wrr_gms": wrr_gms,
    "lard": lard,
    "lard_r": lard_r,
    "bounded_hashing": bounded_hashing,
    "ward": ward,
    "cward_cr": cward_cr,
    "cward_fr": cward_fr,
    "cward_fsr": cward_fsr,
    "cward_pfr": cward_pfr,
    "cward_pfsr": cward_pfsr,
    "cap": cap,
    "hacc": hacc,
    "hacc_split": hacc_split,
    "flex": flex_sites,
    "flex_lard": flex_lard,
    "optimal": optimal,
}

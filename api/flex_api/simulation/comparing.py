"""Policies side by side on clusters: what the command line and the REST API both do with a
trace.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import product

import numpy as np

from flex.errors import BadInput
from flex.sim.policies import POLICIES
from flex.sim.simulate import Result, simulate
from flex.sim.simulated_clusters import MIB, MODELS, SimulatedCluster
from flex.sim.traces import Trace
from flex_api.in_words import amounts
from flex_api.schemas.simulate_output import SimulatedNode, SimulatedRow
from flex_api.simulation import traces_and_solver
from flex_logs_ingest.lines.field_meanings import LARGEST

USUAL = ("flex", "round_robin", "optimal")


def cluster_of(
    model: str, nodes: int, mib: int, *, cache: str = "", disks: int = 1, rate: float = 1.0
) -> SimulatedCluster:
    """Memory is as much smaller as `rate` says where a trace holds that share of the targets."""
    if model not in MODELS:
        raise BadInput(
            f"the model {model}",
            "is not known",
            kept="nothing was simulated",
            advice=f"take one of {', '.join(MODELS)}",
        )
    cluster = replace(MODELS[model](nodes, round(mib * MIB * rate)), disks=disks)
    return replace(cluster, cache=cache) if cache else cluster


def every_policy(trace: Trace) -> list[str]:
    """Those that need to know who asked only where that is known."""
    return [
        name for name, policy in POLICIES.items() if len(trace.client) or not policy.needs_clients
    ]


def compare_policies(
    trace: Trace,
    clusters: Sequence[SimulatedCluster],
    policies: Sequence[str],
    step: Callable[[str], None] = lambda _: None,
) -> list[tuple[SimulatedCluster, Result]]:
    points = []
    for cluster, name in product(clusters, policies):
        step(f"{name} on {cluster.nodes} nodes")
        points.append(
            (
                cluster,
                simulate(
                    trace, cluster, name, lambda t, c: traces_and_solver.place_by_solver(t, t, c)
                ),
            )
        )
    return points


def notes(trace: Trace, points: Sequence[tuple[SimulatedCluster, Result]]) -> list[str]:
    """What has to be known of the figures."""
    remarks = []
    if any(not result.seconds for _, result in points):
        remarks.append(
            "no answer has a byte, so nothing takes time in this model: there is no throughput"
        )
    if capped := int(np.count_nonzero(trace.size[trace.target] >= LARGEST)):
        each = amounts.count(capped, "access asks", "accesses ask")
        remarks.append(
            f"{each} for a file of {amounts.size(LARGEST)} or more, which is taken for "
            f"{amounts.size(LARGEST)}"
        )
    return remarks


def row(cluster: SimulatedCluster, result: Result) -> SimulatedRow:
    mean, p50, p95, p99 = result.delay
    return SimulatedRow.like(
        result,
        nodes=cluster.nodes,
        ram_bytes=cluster.ram[0],
        requests_per_second=result.throughput if result.seconds else None,
        requests_per_second_of_a_node=result.per_server if result.seconds else None,
        idle=result.idle if result.seconds else None,
        delay_mean=mean,
        delay_p50=p50,
        delay_p95=p95,
        delay_p99=p99,
        per_node=[
            SimulatedNode.like(node, idle=node.idle if result.seconds else None)
            for node in result.nodes
        ],
    )

"""Simulations: the cluster's own accesses, or a twin's, through a model of a cluster. Nothing is
stored.
"""

from __future__ import annotations

from itertools import product
from typing import Annotated

from fastapi import APIRouter, Response
from pydantic import Field

from flex.caches import CACHES
from flex.model.period import Period
from flex.sim import traces
from flex.sim.policies import FORMER_NAMES, POLICIES
from flex.sim.published_trace_figures import PUBLISHED
from flex.sim.simulated_clusters import MODELS
from flex_api.schemas.request_and_list_base import Given
from flex_api.schemas.simulate_output import SimulateOutput
from flex_api.simulation import comparing, traces_and_solver
from flex_api.web.etag_responses import reply
from flex_api.web.request_context import Desk, Operator

router = APIRouter(prefix="/api/v1/simulations", tags=["what-if"])

# Accesses of a trace that are simulated where a request does not say how many. A guess.
MOST = 200_000


def _one_of(names: tuple[str, ...]) -> str:
    return f"^({'|'.join(names)})?$"


Policy = Annotated[str, Field(pattern=_one_of((*POLICIES, *FORMER_NAMES)), min_length=1)]


class Simulation(Given):
    """Every policy on every number of nodes with every memory."""

    twin: Annotated[
        str,
        Field(
            pattern=_one_of(tuple(PUBLISHED)), description="a made-up trace; none is our own logs"
        ),
    ] = ""
    policies: Annotated[tuple[Policy, ...], Field(min_length=1, max_length=8)] = comparing.USUAL
    nodes: Annotated[
        tuple[Annotated[int, Field(ge=1, le=64)], ...], Field(min_length=1, max_length=2)
    ] = (4,)
    ram_mib: Annotated[
        tuple[Annotated[int, Field(ge=0, le=2**20)], ...], Field(min_length=1, max_length=2)
    ] = (64,)
    model: Annotated[str, Field(pattern=_one_of(tuple(MODELS)), min_length=1)] = "flex"
    cache: Annotated[
        str, Field(pattern=_one_of(tuple(CACHES)), description="none is the model's")
    ] = ""
    disks: Annotated[int, Field(ge=1, le=64)] = 1
    accesses: Annotated[int, Field(ge=1, le=500_000, description="at most this many")] = MOST


@router.post("", response_model=SimulateOutput)
def simulation(desk: Operator, given: Simulation) -> Response:
    """Policies side by side: requests a second, misses, idle time and delays, per node and in
    all.
    """
    trace, rate = _trace(desk, given)
    clusters = [
        comparing.cluster_of(
            given.model, nodes, mib, cache=given.cache, disks=given.disks, rate=rate
        )
        for nodes, mib in product(given.nodes, given.ram_mib)
    ]
    comparisons = comparing.compare_policies(trace, clusters, given.policies)
    rows = [comparing.row(cluster, result) for cluster, result in comparisons]
    output = SimulateOutput(
        trace=trace.name,
        model=given.model,
        cache=clusters[0].cache,
        items=rows,
        pictures=[],
        notes=comparing.notes(trace, comparisons),
    )
    return reply(desk.request, output)


def _trace(desk: Desk, given: Simulation) -> tuple[traces.Trace, float]:
    """And which share of the targets it holds. Raises Unknown where no access of the period was
    kept.
    """
    if given.twin:
        return traces.first(traces_and_solver.trace_of_twin(given.twin), given.accesses), 1.0
    return traces_and_solver.trace_of_own_logs(
        desk.store, desk.settings.ingest.directory, period_to_replay(desk), given.accesses
    )


def period_to_replay(desk: Desk) -> Period:
    """The latest days that sites were measured in; those before now where there are none."""
    measured = desk.views.catalogue().period
    return measured or Period.days_before(desk.house.clock(), desk.settings.profile.window.days)

"""Simulate: the cluster's own logs through a model of it, under several policies side by side.

The simulation runs in the background, on as many of the latest accesses as a person would wait for.
`flex simulate` takes whole logs and has every option.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from fastapi import APIRouter, Query, Request, Response
from fastapi.responses import HTMLResponse
from pydantic import Field

from flex.model.period import Period
from flex.sim.policies import POLICIES
from flex.sim.simulate import Result
from flex.sim.simulated_clusters import MIB, MODELS
from flex_api.facts.traffic_by_hour import hours_in_logs
from flex_api.in_words import amounts
from flex_api.pages.forms import from_query_form
from flex_api.pages.frame import show
from flex_api.pictures.chart_geometry import Bars, quantities
from flex_api.routes.simulations import period_to_replay
from flex_api.schemas.request_and_list_base import Given
from flex_api.simulation import comparing, traces_and_solver
from flex_api.web.request_context import Desk, Operator

router = APIRouter(include_in_schema=False)

USUAL = ("flex", "round_robin", "lard", "optimal")
# What is kept of logs does not tell who sent a request.
ABOUT = {name: policy.about for name, policy in POLICIES.items() if not policy.needs_clients}
# Accesses of a trace that a simulation from the page takes. A guess; the command line takes more.
MOST_ACCESSES = 200_000
# Policies of one simulation from the page. A guess.
MOST_POLICIES = 8


class AskedSimulation(Given):
    policies: Annotated[tuple[str, ...], Field(max_length=MOST_POLICIES)] = USUAL
    nodes: Annotated[int, Field(ge=1, le=64)] | None = None
    ram_mib: Annotated[int, Field(ge=1, le=2**20)] | None = None
    model: Annotated[str, Field(pattern=f"^({'|'.join(MODELS)})$")] = "flex"


@dataclass(frozen=True, slots=True)
class SimulationShown:
    """What was replayed, and what came out under each policy."""

    accesses: int
    period: Period
    results: tuple[Result, ...]
    misses: Bars
    served: Bars


@router.get("/simulate", response_class=HTMLResponse)
def page(
    desk: Operator, request: Request, ask: Annotated[str, Query(max_length=10)] = ""
) -> Response:
    wanted = from_query_form(AskedSimulation, request, "ask", "done")
    nodes = desk.world().nodes
    count = min(wanted.nodes or max(len(nodes), 1), 64)
    mib = wanted.ram_mib or max(min((node.ram for node in nodes), default=64 * MIB) // MIB, 1)
    policies = [name for name in wanted.policies if name in ABOUT]
    is_asked = bool(ask) or wanted != AskedSimulation()
    simulation = _answer(desk, policies, count, mib, wanted.model) if is_asked else None
    return show(
        desk,
        "simulate.html",
        "/simulate",
        every=list(ABOUT),
        chosen=policies,
        about=ABOUT,
        usual=USUAL,
        models=list(MODELS),
        model=wanted.model,
        period=_days_of_logs(desk),
        count=count,
        mib=mib,
        found=simulation,
        pending=is_asked and simulation is None,
        most=MOST_POLICIES,
    )


def _days_of_logs(desk: Desk) -> Period:
    """The days of the period that logs are of; all of it where there are none."""
    period = period_to_replay(desk)
    return hours_in_logs(desk.store, period).days or period


def _answer(
    desk: Desk, policies: list[str], nodes: int, mib: int, model: str
) -> SimulationShown | None:
    """None while it is being worked out."""
    question = (
        f"simulate {' '.join(policies)} on {nodes} nodes of {mib} MiB as in "
        f"{model}, {period_to_replay(desk)}"
    )
    return desk.house.later.ask(question, lambda: _simulate(desk, policies, nodes, mib, model))


def _simulate(desk: Desk, policies: list[str], nodes: int, mib: int, model: str) -> SimulationShown:
    """Raises Unknown where no access of the period was kept."""
    period = period_to_replay(desk)
    trace, rate = traces_and_solver.trace_of_own_logs(
        desk.store, desk.settings.ingest.directory, period, MOST_ACCESSES
    )
    cluster = comparing.cluster_of(model, nodes, mib, rate=rate)
    results = tuple(result for _, result in comparing.compare_policies(trace, [cluster], policies))
    misses = [
        (policy_result.policy, policy_result.miss_ratio, amounts.share(policy_result.miss_ratio))
        for policy_result in results
    ]
    served = [
        (
            policy_result.policy,
            policy_result.throughput,
            amounts.rate(policy_result.throughput if policy_result.seconds else None),
        )
        for policy_result in results
    ]
    return SimulationShown(
        accesses=len(trace.target),
        period=_days_of_logs(desk),
        results=results,
        misses=quantities("Share of requests read from disk", misses, strong="flex"),
        served=quantities("Requests a second the cluster can serve", served, strong="flex"),
    )

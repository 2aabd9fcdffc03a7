"""Partitions: which node had which site, and since when."""

from __future__ import annotations

from sys import intern
from typing import Annotated, Literal

from fastapi import APIRouter, Query, Response

from flex.errors import NoData
from flex.store import Store
from flex_api import which_names_are_sites
from flex_api.facts import core_to_output_models
from flex_api.routes.plans import the_id
from flex_api.routes.sites import find_row
from flex_api.schemas.request_and_list_base import CLEAN, ListQuery, TimedQuery
from flex_api.schemas.rest_bodies import (
    PlacementPage,
    PlacementRow,
    PlansPage,
    RoutingShown,
)
from flex_api.schemas.verbs_output import PlanOutput
from flex_api.web.etag_responses import page_response, reply
from flex_api.web.paging import page, page_in_order
from flex_api.web.request_context import Desk, Viewer

router = APIRouter(prefix="/api/v1", tags=["partitions"])

UNROUTED = (
    "By DNS alone: each replica gets the share of visitors that resolvers "
    "send it ([routing] on = false)."
)
ROUTED = "By content: HAProxy on its nodes sends each request to the replica that has it in memory."
ALONE = "It has one node, which gets every request."


class PartitionsQuery(TimedQuery):
    sort: Literal["-settled", "settled", "-moves", "moves", "-worst_ratio", "worst_ratio"] = (
        "-settled"
    )
    max_worst_ratio: Annotated[float | None, Query(ge=0, le=1e6)] = None
    min_moves: Annotated[int, Query(ge=0, le=2**62)] = 0


@router.get("/partitions", response_model=PlansPage)
def partitions(desk: Viewer, query: Annotated[PartitionsQuery, Query()]) -> Response:
    """Every partition that came into force, the latest first; `since` and `until` go by when it
    did.
    """
    most = query.max_worst_ratio
    rows = [
        headline
        for headline in desk.views.headlines()
        if headline.settled
        and headline.state == "applied"
        and (most is None or headline.worst <= most)
        and headline.moves >= query.min_moves
        and query.holds(headline.settled)
    ]
    rows_page = page(
        rows,
        {
            "settled": lambda headline: (
                headline.settled and headline.settled.isoformat(timespec="microseconds")
            ),
            "moves": lambda headline: headline.moves,
            "worst_ratio": lambda headline: headline.worst,
        },
        lambda headline: headline.id,
        query,
    )
    items = [core_to_output_models.plan_row(headline) for headline in rows_page.items]
    return page_response(desk.request, PlansPage(items=items, next=rows_page.next))


@router.get("/partitions/current", response_model=PlanOutput)
def current(desk: Viewer) -> Response:
    """The partition in force, with the load that was predicted for it."""
    _, plan = desk.views.base()
    if plan is None:
        raise _none_in_force()
    return reply(desk.request, core_to_output_models.plan_output(plan))


def _none_in_force() -> NoData:
    return NoData(
        "the partition in force", "no plan was applied yet", advice="POST /api/v1/plans makes one"
    )


@router.get("/partitions/{partition}", response_model=PlanOutput)
def partition(desk: Viewer, partition: str) -> Response:
    """One partition, by the id of its plan."""
    return reply(desk.request, core_to_output_models.plan_output(desk.store.plan(partition)))


class PlacementQuery(ListQuery):
    sort: Literal["site", "-site"] = "site"
    node: Annotated[str, Query(max_length=255, pattern=CLEAN)] = ""


@router.get("/partitions/{partition}/placement", response_model=PlacementPage)
def placement(desk: Viewer, partition: str, query: Annotated[PlacementQuery, Query()]) -> Response:
    """Which node has which site, a row for each replica; `current` is the partition in force."""
    name = desk.store.in_force() if partition == "current" else partition
    if not name:
        raise _none_in_force()
    plan = the_id(desk, name)
    rows_page = page_in_order(
        desk.views.few(f"placed {plan}", lambda: _sites_with_nodes(desk.store, plan), len),
        " ".join,
        query,
        wanted=lambda row: query.node in ("", row[1]),
    )
    rows = [PlacementRow(site=site, node=node) for site, node in rows_page.items]
    return page_response(
        desk.request, PlacementPage(partition=plan, items=rows, next=rows_page.next)
    )


def _sites_with_nodes(store: Store, plan: str) -> list[tuple[str, str]]:
    """Sites with their nodes. Nodes are few: each name is there once."""
    frame = store.placement_of(plan)
    return sorted(
        zip(frame["site"].tolist(), map(intern, frame["node"].tolist()), strict=True), key=" ".join
    )


@router.get("/routing/{site}", response_model=RoutingShown, tags=["routing"])
def routing(desk: Viewer, site: str) -> Response:
    """Where visitors of a site are sent, and by what: by DNS, or by HAProxy where that is switched
    on.
    """
    return reply(desk.request, _routing(desk, site))


def _routing(desk: Desk, site: str) -> RoutingShown:
    catalogue = desk.views.catalogue()
    name = which_names_are_sites.site_name(site)
    targets = catalogue.nodes_of(find_row(catalogue, site))
    settings = desk.settings.routing
    several = len(targets) > 1
    policies = {routed.name: routed.policy for routed in settings.site if routed.policy}
    return RoutingShown(
        site=name,
        replicated=several,
        targets=targets,
        routed=several and settings.on,
        policy=policies.get(name, settings.policy) if several and settings.on else "",
        note=ALONE if not several else ROUTED if settings.on else UNROUTED,
    )

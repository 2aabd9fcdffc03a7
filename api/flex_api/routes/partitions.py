"""Partitions: which node had which site, and since when."""

from __future__ import annotations

from typing import Annotated, Literal

import numpy as np
import pandas as pd
from fastapi import APIRouter, Query, Response

from flex.errors import NoData
from flex_api import hosted
from flex_api.known import present
from flex_api.routes.sites import known
from flex_api.schemas.rest import CLEAN, ListQuery, PlacementPage, PlacementRow, PlansPage, RoutingShown, TimedQuery
from flex_api.schemas.verbs import PlanOutput
from flex_api.web.answers import listed, reply
from flex_api.web.desk import Desk, Viewer
from flex_api.web.paging import Order, decoded, encoded, page

router = APIRouter(prefix="/api/v1", tags=["partitions"])

UNROUTED = "By DNS alone: each replica gets the share of visitors that resolvers send it ([routing] on = false)."
ROUTED = "By content: HAProxy on its nodes sends each request to the replica that has it in memory."
ALONE = "It has one node, which gets every request."


class PartitionsQuery(TimedQuery):
    sort: Literal["-settled", "settled", "-moves", "moves", "-worst_ratio", "worst_ratio"] = "-settled"
    max_worst_ratio: Annotated[float | None, Query(ge=0, le=1e6)] = None
    min_moves: Annotated[int, Query(ge=0, le=2**62)] = 0


@router.get("/partitions", response_model=PlansPage)
def partitions(desk: Viewer, query: Annotated[PartitionsQuery, Query()]) -> Response:
    """Every partition that came into force, the latest first; `since` and `until` go by when it did."""
    most = query.max_worst_ratio
    rows = [
        one
        for one in desk.views.headlines()
        if one.settled
        and one.state == "applied"
        and (most is None or one.worst <= most)
        and one.moves >= query.min_moves
        and query.holds(one.settled)
    ]
    found = page(
        rows,
        {
            "settled": lambda one: one.settled and one.settled.isoformat(timespec="microseconds"),
            "moves": lambda one: one.moves,
            "worst_ratio": lambda one: one.worst,
        },
        lambda one: one.id,
        sort=query.sort,
        limit=query.limit,
        cursor=query.cursor,
    )
    items = [present.plan_row(one) for one in found.items]
    return listed(desk.request, PlansPage(items=items, next=found.next), found.next)


@router.get("/partitions/current", response_model=PlanOutput)
def current(desk: Viewer) -> Response:
    """The partition in force, with the load that was predicted for it."""
    _, cycle = desk.views.base()
    if cycle is None:
        raise _none_in_force()
    return reply(desk.request, present.plan_output(cycle))


def _none_in_force() -> NoData:
    return NoData(
        "the partition in force",
        "no plan was applied yet",
        kept="nothing was changed",
        advice="POST /api/v1/plans makes one",
    )


@router.get("/partitions/{partition}", response_model=PlanOutput)
def partition(desk: Viewer, partition: str) -> Response:
    """One partition, by the id of its plan."""
    return reply(desk.request, present.plan_output(desk.store.cycle(partition)))


class PlacementQuery(ListQuery):
    sort: Literal["site", "-site"] = "site"
    node: Annotated[str, Query(max_length=255, pattern=CLEAN)] = ""


@router.get("/partitions/{partition}/placement", response_model=PlacementPage)
def placement(desk: Viewer, partition: str, query: Annotated[PlacementQuery, Query()]) -> Response:
    """Which node has which site, a row for each replica; `current` is the partition in force."""
    name = desk.store.in_force() if partition == "current" else partition
    if not name:
        raise _none_in_force()
    cycle = desk.store.headline(name) or desk.store.cycle(name)
    frame = desk.views.placement(cycle.id)
    if query.node:
        frame = frame[frame["node"] == query.node]
    order = Order.parse(query.sort)
    first = 0
    if query.cursor:
        site, node = decoded(query.cursor, order, (str, str))
        behind = _behind(frame, site, node)
        first = len(frame) - behind + 1 if order.down else behind
    if order.down:
        frame = frame[::-1]
    rows = [
        PlacementRow(site=site, node=node) for site, node in frame[first : first + query.limit].itertuples(index=False)
    ]
    more = len(frame) > first + query.limit
    following = encoded(order, [rows[-1].site, rows[-1].node]) if more else None
    return listed(desk.request, PlacementPage(partition=cycle.id, items=rows, next=following), following)


def _behind(frame: pd.DataFrame, site: str, node: str) -> int:
    """How many rows come before the next one: the frame is in order of site and node."""
    sites = frame["site"].to_numpy(dtype=object)
    low, high = int(np.searchsorted(sites, site, side="left")), int(np.searchsorted(sites, site, side="right"))
    return low + int(np.searchsorted(frame["node"].to_numpy(dtype=object)[low:high], node, side="right"))


@router.get("/routing/{site}", response_model=RoutingShown, tags=["routing"])
def routing(desk: Viewer, site: str) -> Response:
    """Where visitors of a site are sent, and by what: by DNS, or by HAProxy where that is switched on."""
    return reply(desk.request, _routing(desk, site))


def _routing(desk: Desk, site: str) -> RoutingShown:
    found = desk.views.catalogue()
    name = hosted.site_name(site)
    targets = found.nodes_of(known(found, site))
    settings = desk.settings.routing
    several = len(targets) > 1
    policies = {one.name: one.policy for one in settings.site if one.policy}
    return RoutingShown(
        site=name,
        replicated=several,
        targets=targets,
        routed=several and settings.on,
        policy=policies.get(name, settings.policy) if several and settings.on else "",
        note=ALONE if not several else ROUTED if settings.on else UNROUTED,
    )

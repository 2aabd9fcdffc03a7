"""What would be: other nodes, other visitors, more moves; and two partitions side by side. Nothing is stored."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Response

from flex import waiting
from flex.suppose import Supposition
from flex_api import hosted
from flex_api.schemas.rest import CLEAN, Supposed
from flex_api.schemas.supposed import DiffOutput, FrontierOutput, WhatIfOutput
from flex_api.web.answers import reply
from flex_api.web.desk import Operator, Reader
from flex_api.wishes import supposing

router = APIRouter(prefix="/api/v1", tags=["what-if"])


@router.post("/whatif", response_model=WhatIfOutput)
def what_if(desk: Operator, given: Supposed) -> Response:
    """What FLEX would do if nodes, memory or visitors were others. Asks no name server."""
    return reply(desk.request, supposing.what_if(desk.world(), wanted(given), with_frontier=given.frontier))


def wanted(given: Supposed) -> Supposition:
    return Supposition(
        given.more_nodes,
        given.without_nodes,
        given.ram_factor,
        given.growth_ratio,
        {hosted.site_name(site): factor for site, factor in given.site_factors.items()},
        given.tolerance_ratio,
        given.max_moves,
    )


@router.get("/plans/{plan}/frontier", response_model=FrontierOutput)
def frontier(desk: Reader, plan: str) -> Response:
    """What more or fewer moves than this plan's would buy, from none to a partition from scratch."""
    cycle = desk.store.cycle(plan)
    waiting.refuse_outdated(cycle, desk.store, "the frontier of")
    return reply(desk.request, supposing.frontier_of(desk.world()))


@router.get("/partitions/current/frontier", response_model=FrontierOutput)
def current_frontier(desk: Reader) -> Response:
    """What moves from the partition in force would buy, from none to a partition from scratch."""
    return reply(desk.request, supposing.frontier_of(desk.world()))


@router.get("/partitions/{partition}/difference", response_model=DiffOutput)
def difference(
    desk: Reader,
    partition: str,
    to: Annotated[
        str, Query(max_length=100, pattern=CLEAN, description="another; the one in force, if left out")
    ] = "current",
) -> Response:
    """What differs between two partitions, site by site."""
    return reply(desk.request, supposing.difference(desk.world(), partition, to))

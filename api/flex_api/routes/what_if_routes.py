"""What would be: other nodes, other visitors, more moves; and two partitions side by side. Nothing
is stored.
"""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import APIRouter, Query, Response

from flex.planning import outdated_plans
from flex.planning.what_if import Supposition
from flex_api import which_names_are_sites
from flex_api.facts import partition_differences
from flex_api.facts.partition_differences import Difference
from flex_api.routes.plans import the_id
from flex_api.schemas.diff_and_route_lists import DifferencePage
from flex_api.schemas.request_and_list_base import CLEAN, ListQuery
from flex_api.schemas.rest_bodies import Supposed
from flex_api.schemas.what_if_output import FrontierOutput, WhatIfOutput
from flex_api.web.etag_responses import page_response, reply
from flex_api.web.paging import page_in_order
from flex_api.web.request_context import Desk, Operator, Reader
from flex_api.wishes import what_if_frontier_compare

router = APIRouter(prefix="/api/v1", tags=["what-if"])


@router.post("/whatif", response_model=WhatIfOutput)
def what_if(desk: Operator, given: Supposed) -> Response:
    """What FLEX would do if nodes, memory or visitors were others. Asks no name server."""
    return reply(
        desk.request,
        what_if_frontier_compare.what_if(
            desk.world(), supposition(given), with_frontier=given.frontier
        ),
    )


def supposition(given: Supposed) -> Supposition:
    return Supposition(
        given.more_nodes,
        given.without_nodes,
        given.ram_factor,
        given.growth_ratio,
        {
            which_names_are_sites.site_name(site): factor
            for site, factor in given.site_factors.items()
        },
        given.tolerance_ratio,
        given.max_moves,
    )


@router.get("/plans/{plan}/frontier", response_model=FrontierOutput)
def frontier(desk: Reader, plan: str) -> Response:
    """What more or fewer moves than this plan's would buy, from none to a partition from
    scratch.
    """
    chosen = desk.store.plan(plan)
    outdated_plans.refuse_outdated(chosen, desk.store, "the frontier of")
    return reply(desk.request, what_if_frontier_compare.frontier_of(desk.world()))


@router.get("/partitions/current/frontier", response_model=FrontierOutput)
def current_frontier(desk: Reader) -> Response:
    """What moves from the partition in force would buy, from none to a partition from scratch."""
    return reply(desk.request, what_if_frontier_compare.frontier_of(desk.world()))


class DifferenceQuery(ListQuery):
    sort: Literal["site", "-site"] = "site"
    to: Annotated[
        str,
        Query(max_length=100, pattern=CLEAN, description="another; the one in force, if left out"),
    ] = "current"
    name: Annotated[
        str, Query(max_length=255, pattern=CLEAN, description="part of the site's name")
    ] = ""
    node: Annotated[
        str, Query(max_length=255, pattern=CLEAN, description="on this node in one of the two")
    ] = ""


@router.get("/partitions/{partition}/difference", response_model=DifferencePage)
def difference(
    desk: Reader, partition: str, query: Annotated[DifferenceQuery, Query()]
) -> Response:
    """What differs between two partitions, site by site."""
    diff = _difference(desk, partition, query.to)
    rows = page_in_order(
        diff.sites_on_node(query.node) if query.node else diff.names,
        lambda name: name,
        query,
        wanted=lambda name: query.name in name,
    )
    output = DifferencePage(**diff.fields(), items=diff.rows_of(rows.items), next=rows.next)
    return page_response(desk.request, output)


def _difference(desk: Desk, partition: str, other: str) -> Difference:
    """Who asks for one page asks for the next one, too."""
    ids = [desk.store.in_force() if name == "current" else name for name in (partition, other)]
    first, second = (the_id(desk, name) for name in ids)
    return desk.views.few(
        f"difference {first} {second}", lambda: _difference_of(desk, first, second), _rows
    )


def _rows(diff: Difference) -> int:
    return len(diff.names)


def _difference_of(desk: Desk, plan_id: str, other: str) -> Difference:
    first, second = (partition_differences.head(desk.store, name) for name in (plan_id, other))
    return partition_differences.difference(
        first, second, (desk.views.placement(plan_id), desk.views.placement(other))
    )

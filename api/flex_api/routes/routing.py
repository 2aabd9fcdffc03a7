"""How replicated sites are routed, and the HAProxy files of each node, for nodes that fetch
them.
"""

from __future__ import annotations

import time
from typing import Annotated, Literal

from fastapi import APIRouter, Header, Query, Response

from flex.routing import host_to_node_maps
from flex.routing.host_to_node_maps import OWNERS
from flex.routing.member_pools import Pool
from flex.routing.node_file_download import HAS_LARGE, LEFT_OUT
from flex_api.night import ask_every_haproxy, haproxy_pools_and_files, orders_at_doors
from flex_api.night.count_answers_at_nodes import names_wanted
from flex_api.night.which_haproxies_reload import nodes_that_reload
from flex_api.schemas.diff_and_route_lists import RoutingPage
from flex_api.schemas.moved_site_answers import AnswersGiven, NamesWanted, answers_of
from flex_api.schemas.request_and_list_base import CLEAN, ListQuery
from flex_api.schemas.routing import DoorsQuery, DoorsTold, NodeFiles, left_out, pool_row, port_rows
from flex_api.schemas.strays import StraysGiven, door_row, reading_of, stray_row
from flex_api.web import stray_views
from flex_api.web.cached_haproxy_state import distributors
from flex_api.web.cached_routing import digest_of_others, files, routing_of, wrong_names
from flex_api.web.door_answers import wait_for_doors
from flex_api.web.door_watch import Others
from flex_api.web.etag_responses import nothing, page_response, reply
from flex_api.web.paging import page_in_order
from flex_api.web.request_context import NodeItself, NodeOrViewer, Viewer

router = APIRouter(prefix="/api/v1/routing", tags=["routing"])

# How many of the sites that cannot be routed are named.
MOST = 100


class RoutingQuery(ListQuery):
    sort: Literal["site", "-site"] = "site"
    plan: Annotated[
        str,
        Query(
            max_length=200, pattern=CLEAN, description="by this plan, which is about to be applied"
        ),
    ] = ""
    live: Annotated[bool, Query(description="ask the nodes' HAProxies what they do now")] = False
    name: Annotated[
        str, Query(max_length=255, pattern=CLEAN, description="part of the site's name")
    ] = ""
    node: Annotated[
        str, Query(max_length=255, pattern=CLEAN, description="only those on this node")
    ] = ""
    policy: Annotated[str, Query(max_length=50, pattern=CLEAN)] = ""


@router.get("", response_model=RoutingPage)
def routing(desk: Viewer, query: Annotated[RoutingQuery, Query()]) -> Response:
    """Every site on several nodes, its members, by what its requests are spread; each node's
    version of its files.
    """
    settings, view = desk.settings, routing_of(desk, query.plan)
    heard = distributors(desk) if query.live else []
    rows_page = page_in_order(
        sorted(view.routed.pools, key=lambda pool: pool.site),
        lambda pool: pool.site,
        query,
        wanted=lambda pool: _asked_for(pool, query),
    )
    at, outside = (
        stray_views.visitors_at_doors(desk),
        stray_views.outside_dns(desk),
    )
    shown = {pool.site for pool in rows_page.items}
    output = RoutingPage(
        on=settings.routing.on,
        items=[pool_row(pool) for pool in rows_page.items],
        left_out=left_out(view.routed.left_out)[:MOST],
        misnamed=wrong_names(desk),
        nodes=ask_every_haproxy.as_versions(
            view.versions,
            ask_every_haproxy.versions_delivered(settings, list(view.versions)),
            heard,
            orders_at_doors.door_states(settings, desk.store),
            nodes_that_reload(settings, desk.store, query.plan) if query.plan else (),
        ),
        order=ask_every_haproxy.as_order(settings, desk.store),
        live=[row for row in ask_every_haproxy.as_live(heard) if row.site in shown],
        strays=[stray_row(visitors) for visitors in at.visitors[:MOST]],
        strays_count=len(at.visitors),
        strays_not_known=list(at.not_known),
        doors=[door_row(door) for door in at.doors],
        outside_dns=outside[:MOST],
        outside_dns_count=len(outside),
        next=rows_page.next,
    )
    return page_response(desk.request, output)


def _asked_for(pool: Pool, query: RoutingQuery) -> bool:
    there = not query.node or query.node in [member.node for member in pool.members]
    return there and query.name in pool.site and query.policy in ("", pool.policy)


@router.get("/nodes/{node}", response_model=NodeFiles)
def node(
    desk: NodeOrViewer,
    node: str,
    plan: Annotated[
        str, Query(max_length=200, pattern=CLEAN, description="as it will be by this plan")
    ] = "",
    flex_large_map: Annotated[
        str,
        Header(
            max_length=64, description="the digest of the large map of owners that the node has"
        ),
    ] = "",
) -> Response:
    """What the node's HAProxy is to do. A node asks with the ETag it has, and hears nothing while
    nothing changes. Where it has the large map of owners already, `owners.map.digest` is there in
    place of that.

    A token named `node@` and the node's name gets that node's files, and nothing else anywhere.
    """
    watch, began = desk.house.doors, time.monotonic()
    changes = watch.changes
    node_files = (
        haproxy_pools_and_files.files_to_be(desk.settings, desk.house.store, node, plan)
        if plan
        else files(desk, node)
    )
    large = host_to_node_maps.digest(node_files.get(OWNERS, ""))
    others = digest_of_others(node_files, large)
    if not plan:
        watch.note_others(node, Others(others, began, changes))
    if large and flex_large_map == large:
        node_files = {name: text for name, text in node_files.items() if name != OWNERS}
        node_files[LEFT_OUT] = large
    ports = port_rows(desk.settings.routing.ports_between_nodes())
    told = NodeFiles(node=node, files=node_files, ports=ports, others=others)
    return reply(desk.request, told, Vary=HAS_LARGE)


@router.get(
    "/nodes/{node}/doors",
    response_model=DoorsTold,
    responses={204: {"description": "Nothing is new so far: the node asks again."}},
)
async def doors(desk: NodeItself, node: str, query: Annotated[DoorsQuery, Query()]) -> Response:
    """By what the node's door is to go: at once where the node has an older order, or other files,
    and else when there is a newer one; nothing after `wait` seconds at the latest. What the node
    says of itself is kept.
    """
    return await wait_for_doors(desk, node, query)


@router.post(
    "/nodes/{node}/strays",
    status_code=204,
    response_class=Response,
    responses={204: {"description": "It is kept."}},
)
def strays(desk: NodeItself, node: str, given: StraysGiven) -> Response:
    """What came to the node's door and belongs to other nodes: counts since its HAProxy started.

    Reports may come as often as they like: what a report before has told is not counted again.
    """
    settings, store = desk.settings, desk.house.store
    haproxy_pools_and_files.refuse_away(settings, store, node)
    if settings.routing.leads_to_all:
        store.note_strays(node, reading_of(given), desk.now)
    return nothing()


@router.post("/nodes/{node}/answers", response_model=NamesWanted)
def answers(desk: NodeItself, node: str, given: AnswersGiven) -> Response:
    """What the node answered for sites that moved lately. The answer names the hosts that FLEX
    wants to hear of; of any other nothing is kept.
    """
    settings, store = desk.settings, desk.house.store
    haproxy_pools_and_files.refuse_away(settings, store, node)
    wanted = names_wanted(settings, store, node)
    kept = [answer for answer in answers_of(given, node) if answer.name in wanted]
    if kept:
        store.put_answers(kept)
    return reply(desk.request, NamesWanted(names=sorted(wanted)))

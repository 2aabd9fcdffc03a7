"""How replicated sites are routed, and each node's files for its HAProxy, for nodes that fetch them."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Response

from flex_api.night import routed, steering
from flex_api.night.misnamed import misnamed
from flex_api.schemas.routing import NodeFiles, RouteOutput, left_out, pool_row
from flex_api.web.answers import reply
from flex_api.web.desk import NodeOrViewer, Viewer
from flex_api.web.distributors import distributors

router = APIRouter(prefix="/api/v1/routing", tags=["routing"])

Coming = Annotated[str, Query(max_length=200, description="by this plan, which is about to be applied")]


Live = Annotated[bool, Query(description="ask the nodes' HAProxies what they do now")]


@router.get("", response_model=RouteOutput)
def routing(desk: Viewer, plan: Coming = "", live: Live = False) -> Response:
    """Every site on several nodes, its members, by what its requests are spread; each node's version of its files."""
    settings, of_all = desk.settings, steering.routed(desk.settings, desk.store, now=desk.now, coming=plan)
    pools = of_all.pools
    wanted = steering.versions(settings, desk.store, pools)
    found = distributors(desk) if live else []
    output = RouteOutput(
        on=settings.routing.on,
        items=[pool_row(pool) for pool in pools],
        left_out=left_out(of_all.left_out),
        misnamed=misnamed(settings, desk.store),
        nodes=routed.as_versions(wanted, routed.delivered(settings, list(wanted)), found),
        live=routed.as_live(found),
    )
    return reply(desk.request, output)


@router.get("/nodes/{node}", response_model=NodeFiles)
def node(desk: NodeOrViewer, node: str) -> Response:
    """What the node's HAProxy is to do. A node asks with the ETag it has, and hears nothing while nothing changes.

    A token named `node@` and the node's name gets that node's files, and nothing else anywhere.
    """
    return reply(desk.request, NodeFiles(node=node, files=steering.files(desk.settings, desk.store, node)))

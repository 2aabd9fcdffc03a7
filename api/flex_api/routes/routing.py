"""How replicated sites are routed, and each node's files for its HAProxy, for nodes that fetch them."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Response

from flex_api.night import steering
from flex_api.schemas.routing import NodeFiles, RouteOutput, routed
from flex_api.web.answers import reply
from flex_api.web.desk import Viewer

router = APIRouter(prefix="/api/v1/routing", tags=["routing"])

Coming = Annotated[str, Query(max_length=200, description="by this plan, which is about to be applied")]


@router.get("", response_model=RouteOutput)
def routing(desk: Viewer, plan: Coming = "") -> Response:
    """Every site on several nodes, its members, and by what its requests are spread."""
    items = [routed(pool) for pool in steering.pools(desk.settings, desk.store, now=desk.now, coming=plan)]
    return reply(desk.request, RouteOutput(on=desk.settings.routing.on, items=items))


@router.get("/nodes/{node}", response_model=NodeFiles)
def node(desk: Viewer, node: str) -> Response:
    """What the node's HAProxy is to do. A node asks with the ETag it has, and hears nothing while nothing changes."""
    return reply(desk.request, NodeFiles(node=node, files=steering.files(desk.settings, desk.store, node)))

"""DNS: what the name servers said when they were last asked, and what they say now where somebody asks."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import APIRouter, Query, Response
from fastapi.responses import HTMLResponse

from flex_api.known import present
from flex_api.pages.frame import show, told
from flex_api.routes import dns
from flex_api.schemas.rest import DriftShown
from flex_api.web.desk import Viewer

router = APIRouter(include_in_schema=False)


@router.get("/dns", response_class=HTMLResponse)
def page(desk: Viewer, ask: Annotated[Literal["", "now"], Query()] = "") -> Response:
    """No name server is asked before somebody wants it: one that is away would keep everybody waiting."""
    _, cycle = desk.views.base()
    dns_set = desk.settings.dns
    return show(
        desk,
        "dns.html",
        "/dns",
        plan=cycle,
        zones=[present.zone_row(plan) for plan in cycle.plans] if cycle else [],
        known={plan.zone: plan for plan in cycle.plans} if cycle else {},
        set=dns_set,
        every=dns_set.every_zone,
        rows=[present.verdict_row(verdict) for verdict in cycle.verdicts] if cycle else [],
        drift=told(DriftShown, dns.drift(desk)) if ask else None,
        journal=desk.store.journal(cycle.id).rows() if cycle else (),
    )

"""DNS: what the name servers said when they were last asked. A button asks them again.

A name server may be away, so it is asked in the background, and only when somebody wants it. Its
answer is kept for all pages.
"""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import APIRouter, Query, Response
from fastapi.responses import HTMLResponse

from flex.planning import which_servers_agree
from flex_api.facts import core_to_output_models, verify_dns_answers
from flex_api.pages.forms import led_on
from flex_api.pages.frame import show
from flex_api.status import last_check
from flex_api.web.request_context import Desk, Viewer
from flex_api.web.sight import sight

router = APIRouter(include_in_schema=False)

# Seconds: who asks again within them is told what was just said.
FRESH = 5.0


@router.get("/dns", response_class=HTMLResponse)
def page(desk: Viewer, ask: Annotated[Literal["", "now"], Query()] = "") -> Response:
    world = desk.world()
    verification = (
        desk.house.later.ask(
            "name servers", lambda: verify_dns_answers.verify(world), lasting=FRESH
        )
        if ask
        else None
    )
    return (
        led_on(desk.request, "/dns?done=asked") if verification else _page(desk, pending=bool(ask))
    )


def _page(desk: Desk, *, pending: bool) -> Response:
    _, plan = desk.views.base()
    check = last_check(sight(desk))
    # What was kept without a zone cannot be compared by serial.
    answers = [answer for answer in check.servers if answer.zone] if check else []
    dns_set = desk.settings.dns
    return show(
        desk,
        "dns.html",
        "/dns",
        plan=plan,
        zones=[core_to_output_models.zone_row(zone_plan) for zone_plan in plan.zone_plans]
        if plan
        else [],
        known={zone_plan.zone: zone_plan for zone_plan in plan.zone_plans} if plan else {},
        set=dns_set,
        every=dns_set.every_zone,
        check=check,
        behind=list(which_servers_agree.servers_behind(answers).values()),
        pending=pending,
        journal=desk.store.journal(plan.id).rows() if plan else (),
    )

"""What if: other nodes, other visitors, another aim. The form leads to an address that shows the
answer. Nothing is stored.

The answer takes as long as making a plan. It is worked out in the background, and the page asks
again until it is there.
"""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Request, Response
from fastapi.responses import HTMLResponse
from pydantic import Field

from flex_api.pages.forms import from_query_form, valid
from flex_api.pages.frame import show
from flex_api.pages.plans import points_of
from flex_api.report import loads_of_nodes
from flex_api.routes import what_if_routes
from flex_api.schemas.request_and_list_base import Given
from flex_api.schemas.rest_bodies import Supposed
from flex_api.schemas.what_if_output import WhatIfOutput
from flex_api.web.request_context import Desk, Operator
from flex_api.wishes import what_if_frontier_compare

router = APIRouter(include_in_schema=False)


class AskedWhatIf(Given):
    """As the form has it: in per cent, and one site by its name."""

    more_nodes: Annotated[int, Field(ge=0, le=1000)] = 0
    without_nodes: tuple[str, ...] = ()
    ram_percent: Annotated[int, Field(ge=1, le=10_000)] = 100
    growth_percent: Annotated[int, Field(ge=-99, le=10_000)] = 0
    site: Annotated[str, Field(max_length=255)] = ""
    site_factor: Annotated[float, Field(ge=0.000001, le=1e6)] = 1.0
    tolerance_percent: Annotated[float, Field(gt=0, lt=100)] | None = None
    max_moves: Annotated[int, Field(ge=0, le=2**31)] | None = None
    frontier: bool = False


@router.get("/what-if", response_class=HTMLResponse)
def what_if(
    desk: Operator, request: Request, ask: Annotated[str, Query(max_length=10)] = ""
) -> Response:
    """The form alone until something is asked, also by an address that somebody wrote."""
    wanted = from_query_form(AskedWhatIf, request, "ask", "done")
    is_asked = bool(ask) or wanted != AskedWhatIf()
    answer = _answer(desk, _supposition(wanted)) if is_asked else None
    return show(
        desk,
        "what_if.html",
        "/what-if",
        asked=wanted,
        answer=answer,
        pending=is_asked and answer is None,
        plannable=_plannable(wanted),
        bars=loads_of_nodes.bars(
            loads_of_nodes.loads(answer.before, answer.after), desk.settings.solver.tolerance
        )
        if answer
        else (),
        lines_of_nodes=loads_of_nodes.node_lines(answer.before, answer.after) if answer else (),
        curve=points_of(answer.frontier, desk.settings.solver.tolerance)
        if answer and answer.frontier
        else None,
        tolerance=desk.settings.solver.tolerance,
        nodes=[node.name for node in desk.world().nodes],
    )


def _answer(desk: Desk, wanted: Supposed) -> WhatIfOutput | None:
    """None while it is being worked out."""
    question, world = what_if_routes.supposition(wanted), desk.world()
    return desk.house.later.ask(
        f"what if {wanted.model_dump_json()}",
        lambda: what_if_frontier_compare.what_if(world, question, with_frontier=wanted.frontier),
    )


def _plannable(wanted: AskedWhatIf) -> bool:
    """Whether a plan can be made of it: of the cluster and the visitors as they are."""
    free = {
        "max_moves": wanted.max_moves,
        "tolerance_percent": wanted.tolerance_percent,
        "frontier": wanted.frontier,
    }
    return wanted == AskedWhatIf(**free)


def _supposition(wanted: AskedWhatIf) -> Supposed:
    tolerance = wanted.tolerance_percent
    return valid(
        Supposed,
        {
            "more_nodes": wanted.more_nodes,
            "without_nodes": wanted.without_nodes,
            "ram_factor": wanted.ram_percent / 100,
            "growth_ratio": wanted.growth_percent / 100,
            "site_factors": {wanted.site: wanted.site_factor} if wanted.site else {},
            "tolerance_ratio": tolerance / 100 if tolerance else None,
            "max_moves": wanted.max_moves,
            "frontier": wanted.frontier,
        },
        {"site_factors": "site"},
    )

"""What the server is made of, whether a night has what it needs, and how requests are routed: what
the verbs of these names print.
"""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Response

from flex_api import doctor as checking
from flex_api.night.route_output import route_output
from flex_api.schemas.request_and_list_base import CLEAN
from flex_api.schemas.routing import RouteOutput
from flex_api.schemas.verbs_output import (
    ConfigShowOutput,
    DoctorOutput,
    StatusOutput,
    VersionOutput,
)
from flex_api.settings_without_secrets import config_show_output
from flex_api.status import status as status_of
from flex_api.version_of_flex import versions
from flex_api.web.etag_responses import reply
from flex_api.web.request_context import Operator, Reader, Viewer, require_turn
from flex_api.web.sight import sight

router = APIRouter(prefix="/api/v1", tags=["installation"])

# Name servers are asked, and sent what changes nothing.
TAKES_LONG = require_turn(lambda _: True)


@router.get("/version", response_model=VersionOutput)
def version(desk: Viewer) -> Response:
    """The versions of FLEX and of its libraries."""
    return reply(desk.request, versions().output())


@router.get("/status", response_model=StatusOutput)
def status(desk: Viewer) -> Response:
    """How the cluster is: its nodes, its last run, and what is wrong or waits for somebody."""
    return reply(desk.request, status_of(sight(desk)))


@router.get("/settings", response_model=ConfigShowOutput)
def settings(desk: Viewer) -> Response:
    """Every setting in force, without secrets, and which of them the file does not set."""
    return reply(desk.request, config_show_output(desk.settings))


@router.get("/doctor", response_model=DoctorOutput, dependencies=[TAKES_LONG])
def doctor(desk: Operator) -> Response:
    """Check everything a night needs; nothing is changed."""
    checks = list(checking.checks(desk.settings, desk.now))
    return reply(desk.request, DoctorOutput(checks=checks))


@router.get("/route", response_model=RouteOutput, tags=["routing"])
def route(
    desk: Reader,
    plan: Annotated[
        str,
        Query(
            max_length=200, pattern=CLEAN, description="by this plan, which is about to be applied"
        ),
    ] = "",
    live: Annotated[bool, Query(description="ask the nodes' HAProxies what they do now")] = False,
) -> Response:
    """All sites on several nodes at once, their members, by what requests are spread; the version
    of each node's files. `/routing` has them a page at a time.
    """
    return reply(desk.request, route_output(desk.world(), plan, live=live))

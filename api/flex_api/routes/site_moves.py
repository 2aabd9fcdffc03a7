"""Sites on their way from one node to another: how each move went, one is moved by hand, and a site
may move again.
"""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import APIRouter, Query, Response

from flex.model.site_moves import State
from flex_api.moving import failed_move_release
from flex_api.moving.ask_ready_by_hand import ask_ready
from flex_api.moving.ready_output import ready_output
from flex_api.night import move_site_by_hand
from flex_api.night.leases import lease
from flex_api.night.plan_with_stops import plan_with_stops
from flex_api.routes.make_and_apply_plans import TryPlan, start_job
from flex_api.schemas.request_and_list_base import CLEAN, ListQuery
from flex_api.schemas.rest_bodies import JobShown
from flex_api.schemas.site_moves import (
    AgainGiven,
    MovesOutput,
    ReadyGiven,
    ReadyOutput,
    RestOutput,
    SiteMoveGiven,
)
from flex_api.schemas.verbs_output import PlanOutput
from flex_api.web.etag_responses import page_response, reply
from flex_api.web.moves_by_page import Sort, page_of_moves
from flex_api.web.request_context import DRY_IN_TURN, OnlyTry, Operator, Viewer
from flex_api.which_names_are_sites import site_name
from flex_api.wiring import World
from flex_api.work_in_background import Follow

router = APIRouter(prefix="/api/v1/moves", tags=["moves"])

# Seconds that somebody waits for the answer of nodes. A guess: what takes longer is for the
# command line.
LONGEST = 60.0


class SiteMovesQuery(ListQuery):
    sort: Sort = "-begun"
    site: Annotated[str, Query(max_length=1000, pattern=CLEAN)] = ""
    plan: Annotated[str, Query(max_length=100, pattern=CLEAN)] = ""
    node: Annotated[
        str, Query(max_length=255, pattern=CLEAN, description="from or to this node")
    ] = ""
    state: Annotated[State | Literal["open"] | None, Query()] = None


@router.get("", response_model=MovesOutput)
def moves(desk: Viewer, query: Annotated[SiteMovesQuery, Query()]) -> Response:
    """What was brought to new nodes for sites, and what stopped others, the newest first."""
    output = page_of_moves(
        desk.store,
        query.limit,
        with_output=desk.caller.may("operator"),
        site=query.site and site_name(query.site),
        plan=query.plan,
        node=query.node,
        state=query.state or "",
        cursor=query.cursor,
        sort=query.sort,
    )
    return page_response(desk.request, output)


@router.post(
    "",
    status_code=202,
    response_model=JobShown,
    responses={200: {"model": PlanOutput, "description": "of a dry run"}},
    dependencies=[DRY_IN_TURN],
)
def move(desk: Operator, given: SiteMoveGiven, dry_run: TryPlan = False) -> Response:
    """Make a plan that moves one site. It is an ordinary plan, to be approved and applied like any
    other.
    """
    author = desk.caller.name
    if dry_run:
        tried = move_site_by_hand.try_plan(desk.world(), given.site, given.to, author)
        return reply(desk.request, plan_with_stops(desk.world(), tried))
    move_site_by_hand.refuse_at_once(desk.world(), given.site, given.to)

    def work(world: World, _: Follow) -> str:
        with lease(world, "move") as held:
            chosen = move_site_by_hand.make_plan(world, given.site, given.to, author)
            held.concerns(chosen)
        return f"/api/v1/plans/{chosen.id}"

    return start_job(desk.because(given.reason), "move", work)


@router.post("/ready", response_model=ReadyOutput)
def ready(desk: Operator, given: ReadyGiven) -> Response:
    """Ask nodes whether they are ready for sites, as a plan asks. Nothing is moved."""
    budget = desk.settings.move.ready.budget.total_seconds()
    checked = ask_ready(desk.world(), given.sites, given.to, min(budget, LONGEST))
    return reply(desk.request, ready_output(checked))


@router.post("/again", response_model=RestOutput)
def again(desk: Operator, given: AgainGiven, dry_run: OnlyTry = False) -> Response:
    """A site whose last move failed may move again before its rest is over."""
    desk = desk.because(given.reason)
    name = site_name(given.site)
    failed_move_release.let_move_again(desk.store, name, desk.now, dry_run=dry_run)
    return reply(desk.request, RestOutput(sites=[name], dry_run=dry_run))

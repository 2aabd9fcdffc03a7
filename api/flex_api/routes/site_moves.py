"""Sites on their way from one node to another: how each move went, and that one may move again."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Response

from flex_api.moving import end_rest_of_site
from flex_api.schemas.request_and_page_base import CLEAN
from flex_api.schemas.site_moves import (
    AgainGiven,
    MovesOutput,
    RestOutput,
    move_rows,
)
from flex_api.web.etag_responses import reply
from flex_api.web.request_context import OnlyTry, Operator, Viewer
from flex_api.which_names_are_sites import site_name

router = APIRouter(prefix="/api/v1/moves", tags=["moves"])

# Moves in one answer, at most.
MOST = 10_000


@router.get("", response_model=MovesOutput)
def moves(
    desk: Viewer,
    site: Annotated[str, Query(max_length=1000, pattern=CLEAN)] = "",
    limit: Annotated[int, Query(ge=1, le=MOST)] = 50,
) -> Response:
    """What was brought to new nodes for sites, and what stopped others, the newest first."""
    found = desk.store.site_moves(limit, site=site and site_name(site))
    runs = desk.store.stage_runs([move.id for move in found])
    return reply(desk.request, MovesOutput(items=move_rows(found, runs)))


@router.post("/again", response_model=RestOutput)
def again(desk: Operator, given: AgainGiven, dry_run: OnlyTry = False) -> Response:
    """A site whose last move failed may move again before its rest is over."""
    desk = desk.because(given.reason)
    name = site_name(given.site)
    end_rest_of_site.let_move_again(desk.store, name, desk.now, dry_run=dry_run)
    return reply(desk.request, RestOutput(sites=[name], dry_run=dry_run))

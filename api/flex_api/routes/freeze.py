"""A stop to everything that changes DNS, with an end."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Response

from flex.model.drains_and_freezes import Freeze
from flex_api.night import freezes
from flex_api.schemas.request_and_list_base import CLEAN
from flex_api.schemas.rest_bodies import FreezeGiven, FreezeShown
from flex_api.web.etag_responses import TheCondition, nothing, reply
from flex_api.web.request_context import Desk, OnlyTry, Operator, Viewer

router = APIRouter(prefix="/api/v1/freeze", tags=["freeze"])


@router.get("", response_model=FreezeShown)
def freeze(desk: Viewer) -> Response:
    """Whether changes are frozen, by whom and until when."""
    return reply(desk.request, _freeze_model(freezes.freeze_in_force(desk.world())))


@router.put("", response_model=FreezeShown)
def put(
    desk: Operator, given: FreezeGiven, condition: TheCondition, dry_run: OnlyTry = False
) -> Response:
    """Stop all changes in DNS; nights go on to read logs and to make plans."""
    desk = desk.because(given.reason)
    wanted = Freeze(desk.now, given.until, given.reason, desk.caller.name)
    with desk.store.together():
        _refuse_unmet(desk, condition)
        freezes.freeze(desk.world(), wanted, dry_run=dry_run)
    return reply(desk.request, _freeze_model(wanted))


@router.delete(
    "",
    status_code=204,
    responses={200: {"model": FreezeShown, "description": "of a dry run: what would end"}},
)
def thaw(
    desk: Operator,
    condition: TheCondition,
    reason: Annotated[str, Query(max_length=1000, pattern=CLEAN)] = "",
    dry_run: OnlyTry = False,
) -> Response:
    """End it."""
    desk = desk.because(reason)
    with desk.store.together():
        _refuse_unmet(desk, condition)
        ended = freezes.thaw(desk.world(), dry_run=dry_run)
    return reply(desk.request, _freeze_model(ended)) if dry_run else nothing()


def _refuse_unmet(desk: Desk, condition: TheCondition) -> None:
    current = freezes.freeze_in_force(desk.world())
    # That nothing is frozen can be read, and changed from there; for who wants a new freeze there
    # is none yet.
    is_new = current is None and not condition.if_match and bool(condition.if_none_match)
    condition.refuse_unmet("the freeze", None if is_new else _freeze_model(current))


def _freeze_model(current: Freeze | None) -> FreezeShown:
    if current is None:
        return FreezeShown(frozen=False)
    return FreezeShown.like(current, frozen=True)

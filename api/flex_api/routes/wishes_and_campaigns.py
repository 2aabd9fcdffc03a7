"""Pins: what people wish for single sites."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Path, Query, Response

from flex.errors import Unknown
from flex.model.wish import Pin
from flex_api import which_names_are_sites
from flex_api.schemas import sites_and_wishes
from flex_api.schemas.request_and_list_base import CLEAN, ListQuery
from flex_api.schemas.rest_bodies import PinsPage
from flex_api.schemas.sites_and_wishes import PinGiven, PinShown, PinTried
from flex_api.schemas.what_if_output import PreviewRow
from flex_api.web.etag_responses import Condition, TheCondition, etag, nothing, page_response, reply
from flex_api.web.paging import page
from flex_api.web.request_context import DRY_IN_TURN, Desk, Operator, Viewer
from flex_api.wiring import World
from flex_api.wishes import make_and_drop_wishes, previewing

router = APIRouter(prefix="/api/v1", tags=["pins"])


CAMPAIGN = r"^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$"
CampaignName = Annotated[str, Path(min_length=1, max_length=100, pattern=CAMPAIGN)]
DryRun = Annotated[
    bool, Query(description="check it and say what the next plan would do; change nothing")
]
# Any, below: plain JSON of the API's description.
MADE: dict[int | str, dict[str, Any]] = {201: {"model": PinShown}}
TRIED: dict[int | str, dict[str, Any]] = {200: {"model": PinTried, "description": "of a dry run"}}
Why = Annotated[str, Query(max_length=1000, pattern=CLEAN)]


class PinsQuery(ListQuery):
    sort: Literal["site", "-site", "until", "-until", "since", "-since", "author", "-author"] = (
        "site"
    )
    node: Annotated[
        str, Query(max_length=255, pattern=CLEAN, description="only those that name this node")
    ] = ""
    author: Annotated[str, Query(max_length=255, pattern=CLEAN)] = ""
    site: Annotated[
        str, Query(max_length=255, pattern=CLEAN, description="only those for this site")
    ] = ""
    holds: Annotated[bool | None, Query(description="in force now, or not")] = None


@router.get("/pins", response_model=PinsPage)
def pins(desk: Viewer, query: Annotated[PinsQuery, Query()]) -> Response:
    """Every wish, also those that begin later or have ended."""
    rows = [
        pin
        for pins in desk.views.wishes().values()
        for pin in pins
        if query.site in ("", pin.site)
        and (not query.node or query.node in (*pin.nodes, *pin.not_on))
        and query.author in ("", pin.author)
        and query.holds in (None, pin.holds(desk.now))
    ]
    rows_page = page(
        rows,
        {
            "site": lambda pin: pin.site,
            "until": lambda pin: pin.until and pin.until.isoformat(),
            "since": lambda pin: pin.since and pin.since.isoformat(),
            "author": lambda pin: pin.author,
        },
        lambda pin: f"{pin.site} {pin.campaign}",
        query,
    )
    items = [pin_model(desk, pin) for pin in rows_page.items]
    return page_response(desk.request, PinsPage(items=items, next=rows_page.next))


@router.get("/sites/{site}/pin", response_model=PinShown)
def pin(desk: Viewer, site: str) -> Response:
    """The wish that stands for one site; its ETag is what a change of it needs."""
    return reply(
        desk.request, pin_model(desk, _pin_of(desk, which_names_are_sites.site_name(site)))
    )


@router.get("/sites/{site}/campaigns/{campaign}", response_model=PinShown)
def campaign(desk: Viewer, site: str, campaign: CampaignName) -> Response:
    """A wish on top of the one that stands; its ETag is what a change of it needs."""
    return reply(
        desk.request,
        pin_model(desk, _pin_of(desk, which_names_are_sites.site_name(site), campaign)),
    )


@router.put(
    "/sites/{site}/pin",
    response_model=PinShown | PinTried,
    responses=MADE,
    dependencies=[DRY_IN_TURN],
)
def put_pin(
    desk: Operator, site: str, given: PinGiven, condition: TheCondition, dry_run: DryRun = False
) -> Response:
    """Wish something for a site from the next plan on. What cannot be kept is refused, naming the
    conflict.
    """
    return _put(desk, site, "", given, condition, dry_run)


@router.put(
    "/sites/{site}/campaigns/{campaign}",
    response_model=PinShown | PinTried,
    responses=MADE,
    dependencies=[DRY_IN_TURN],
)
def put_campaign(
    desk: Operator,
    site: str,
    campaign: CampaignName,
    given: PinGiven,
    condition: TheCondition,
    dry_run: DryRun = False,
) -> Response:
    """Wish something for a while: what it says takes the place of what the permanent wish says,
    until its end.
    """
    return _put(desk, site, campaign, given, condition, dry_run)


@router.delete("/sites/{site}/pin", status_code=204, responses=TRIED, dependencies=[DRY_IN_TURN])
def delete_pin(
    desk: Operator, site: str, condition: TheCondition, reason: Why = "", dry_run: DryRun = False
) -> Response:
    """Take the wish that stands back."""
    return _drop(desk.because(reason), site, "", condition, dry_run)


@router.delete(
    "/sites/{site}/campaigns/{campaign}",
    status_code=204,
    responses=TRIED,
    dependencies=[DRY_IN_TURN],
)
def delete_campaign(
    desk: Operator,
    site: str,
    campaign: CampaignName,
    condition: TheCondition,
    reason: Why = "",
    dry_run: DryRun = False,
) -> Response:
    """End a campaign before its time."""
    return _drop(desk.because(reason), site, campaign, condition, dry_run)


def _put(
    desk: Desk, site: str, campaign: str, given: PinGiven, condition: Condition, dry_run: bool
) -> Response:
    desk = desk.because(given.reason)
    name = which_names_are_sites.site_name(site)
    wanted = Pin(site=name, author=desk.caller.name, campaign=campaign, **dict(given))
    condition.refuse_unmet(_name_of(name, campaign), _current(desk, name, campaign))
    # Whether it can be kept takes a while to find out, and nobody should have to wait for that to
    # write.
    make_and_drop_wishes.pin(desk.world(), wanted, dry_run=True)
    if dry_run:
        return _try(desk, wanted, previewing.preview_pin)
    with desk.store.together():
        before = _current(desk, name, campaign)
        condition.refuse_unmet(_name_of(name, campaign), before)
        desk.store.put_pin(wanted)
    return reply(desk.request, pin_model(desk, wanted), 200 if before else 201)


def _try(desk: Desk, pin: Pin, look: Callable[[World, Pin], PreviewRow]) -> Response:
    preview, notes = previewing.look_if_possible(lambda: look(desk.world(), pin))
    return reply(
        desk.request, PinTried(**pin_model(desk, pin).model_dump(), preview=preview, notes=notes)
    )


def _drop(desk: Desk, site: str, campaign: str, condition: Condition, dry_run: bool) -> Response:
    name = which_names_are_sites.site_name(site)
    if dry_run:
        pinned = _pin_of(desk, name, campaign)
        condition.refuse_unmet(_name_of(name, campaign), pin_model(desk, pinned))
        return _try(desk, pinned, previewing.preview_unpin)
    with desk.store.together():
        before = _pin_of(desk, name, campaign)
        condition.refuse_unmet(_name_of(name, campaign), pin_model(desk, before))
        desk.store.drop_pin(name, campaign)
    return nothing()


def _name_of(site: str, campaign: str) -> str:
    return f"the campaign {campaign} of {site}" if campaign else f"the pin on {site}"


def _current(desk: Desk, site: str, campaign: str) -> PinShown | None:
    pin = desk.store.pin(site, campaign)
    return pin_model(desk, pin) if pin else None


def etag_of(desk: Desk, site: str, campaign: str = "") -> str:
    """What a change of the wish is made from; empty where there is none."""
    wish = _current(desk, site, campaign)
    return etag(wish) if wish else ""


def _pin_of(desk: Desk, site: str, campaign: str = "") -> Pin:
    pin = desk.store.pin(site, campaign)
    if pin is None:
        raise Unknown(
            _name_of(repr(site), campaign),
            "nobody wished for it",
            advice="GET /api/v1/pins shows every wish",
        )
    return pin


def pin_model(desk: Desk, pin: Pin) -> PinShown:
    """As it is answered, with whether it holds now."""
    return PinShown(**sites_and_wishes.values(pin), holds=pin.holds(desk.now))

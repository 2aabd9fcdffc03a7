"""Pins: what people wish for single sites."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import APIRouter, Query, Response

from flex.domain import Pin
from flex.errors import Unknown
from flex_api import hosted, pinning
from flex_api.rest_schemas import CLEAN, ListQuery, PinGiven, PinShown, PinsPage
from flex_api.web.answers import TheCondition, etag, listed, nothing, reply
from flex_api.web.desk import Desk, Operator, Viewer
from flex_api.web.paging import page

router = APIRouter(prefix="/api/v1", tags=["pins"])


class PinsQuery(ListQuery):
    sort: Literal["site", "-site", "until", "-until", "since", "-since", "author", "-author"] = "site"
    node: Annotated[str, Query(max_length=255, pattern=CLEAN, description="only those that name this node")] = ""
    author: Annotated[str, Query(max_length=255, pattern=CLEAN)] = ""
    holds: Annotated[bool | None, Query(description="in force now, or not")] = None


@router.get("/pins", response_model=PinsPage)
def pins(desk: Viewer, query: Annotated[PinsQuery, Query()]) -> Response:
    """Every wish, also those that begin later or have ended."""
    rows = [
        pin
        for pin in desk.views.pins().values()
        if (not query.node or query.node in (*pin.nodes, *pin.not_on))
        and query.author in ("", pin.author)
        and query.holds in (None, pin.holds(desk.now))
    ]
    found = page(
        rows,
        {
            "site": lambda pin: pin.site,
            "until": lambda pin: pin.until and pin.until.isoformat(),
            "since": lambda pin: pin.since and pin.since.isoformat(),
            "author": lambda pin: pin.author,
        },
        lambda pin: pin.site,
        sort=query.sort,
        limit=query.limit,
        cursor=query.cursor,
    )
    items = [shown(desk, pin) for pin in found.items]
    return listed(desk.request, PinsPage(items=items, next=found.next), found.next)


@router.get("/sites/{site}/pin", response_model=PinShown)
def pin(desk: Viewer, site: str) -> Response:
    """The wish for one site; its ETag is what a change of it needs."""
    return reply(desk.request, shown(desk, _pinned(desk, hosted.site_name(site))))


@router.put("/sites/{site}/pin", response_model=PinShown, responses={201: {"model": PinShown}})
def put_pin(
    desk: Operator,
    site: str,
    given: PinGiven,
    condition: TheCondition,
    dry_run: Annotated[bool, Query(description="check the wish, change nothing")] = False,
) -> Response:
    """Wish something for a site from the next plan on. What cannot be kept is refused, naming the conflict."""
    desk = desk.because(given.reason)
    name = hosted.site_name(site)
    wanted = Pin(site=name, author=desk.caller.name, **dict(given))
    condition.refuse_unmet(f"the pin on {name}", _current(desk, name))
    # Whether it can be kept takes a while to find out, and nobody should have to wait for that to write.
    pinning.pin(desk.world(), wanted, dry_run=True)
    with desk.store.together():
        before = _current(desk, name)
        condition.refuse_unmet(f"the pin on {name}", before)
        if not dry_run:
            desk.store.put_pin(wanted)
    return reply(desk.request, shown(desk, wanted), 200 if before or dry_run else 201)


@router.delete("/sites/{site}/pin", status_code=204)
def delete_pin(
    desk: Operator,
    site: str,
    condition: TheCondition,
    reason: Annotated[str, Query(max_length=1000, pattern=CLEAN)] = "",
) -> Response:
    """Take a wish back."""
    desk = desk.because(reason)
    name = hosted.site_name(site)
    with desk.store.together():
        before = _pinned(desk, name)
        condition.refuse_unmet(f"the pin on {name}", shown(desk, before))
        desk.store.drop_pin(name)
    return nothing()


def _current(desk: Desk, site: str) -> PinShown | None:
    pin = desk.store.pin(site)
    return shown(desk, pin) if pin else None


def etag_of(desk: Desk, site: str) -> str:
    """What a change of the wish is made from; empty where there is none."""
    found = _current(desk, site)
    return etag(found) if found else ""


def _pinned(desk: Desk, site: str) -> Pin:
    pin = desk.store.pin(site)
    if pin is None:
        raise Unknown(
            f"the pin on {site!r}",
            "nobody wished anything of it",
            kept="nothing was changed",
            advice="GET /api/v1/pins shows every wish",
        )
    return pin


def shown(desk: Desk, pin: Pin) -> PinShown:
    """As it is answered, with whether it holds now."""
    return PinShown(
        site=pin.site,
        nodes=list(pin.nodes),
        not_on=list(pin.not_on),
        together=list(pin.together),
        apart=list(pin.apart),
        min_replicas=pin.min_replicas,
        max_replicas=pin.max_replicas,
        weight=pin.weight,
        sla=pin.sla,
        excluded=pin.excluded,
        since=pin.since,
        until=pin.until,
        reason=pin.reason,
        author=pin.author,
        holds=pin.holds(desk.now),
    )

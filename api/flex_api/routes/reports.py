"""Reports: the same content as the file that a night writes, made when it is asked for."""

from __future__ import annotations

from datetime import date
from typing import Annotated, Any, Literal

from fastapi import APIRouter, HTTPException, Query, Response

from flex.errors import NoData, Unknown
from flex_api.report.formats import FORMATS, MEDIA
from flex_api.report.gather import gather
from flex_api.routes.plans import the_plan
from flex_api.schemas.rest import ListQuery, ReportRow, ReportShown, ReportsPage
from flex_api.web.answers import listed, told
from flex_api.web.desk import Desk, Viewer
from flex_api.web.paging import page

router = APIRouter(prefix="/api/v1/reports", tags=["reports"])


# Any, below: plain JSON of the API's description.
FORMS: dict[int | str, dict[str, Any]] = {
    200: {"content": {media: {"schema": {"type": "string"}} for media in ("text/html", "text/markdown")}}
}
Form = Annotated[Literal["html", "json", "md"] | None, Query(alias="format")]


class ReportsQuery(ListQuery):
    sort: Literal["-created", "created"] = "-created"
    state: Annotated[Literal["proposed", "applying", "applied", "discarded", "failed"] | None, Query()] = None


@router.get("", response_model=ReportsPage)
def reports(desk: Viewer, query: Annotated[ReportsQuery, Query()]) -> Response:
    """There is one of every plan."""
    rows = [one for one in desk.views.headlines() if query.state in (None, one.state)]
    found = page(
        rows,
        {"created": lambda one: one.created.isoformat(timespec="microseconds")},
        lambda one: one.id,
        sort=query.sort,
        limit=query.limit,
        cursor=query.cursor,
    )
    items = [ReportRow(plan=one.id, created=one.created, formats=list(FORMATS)) for one in found.items]
    return listed(desk.request, ReportsPage(items=items, next=found.next), found.next)


@router.get("/latest", response_model=ReportShown, responses=FORMS)
def latest(desk: Viewer, form: Form = None) -> Response:
    """Of the latest plan: a page that opens anywhere, or what `format` or `Accept` ask for."""
    newest = desk.views.headlines()
    if not newest:
        raise NoData(
            "the latest report", "there is no plan", kept="nothing was changed", advice="POST /api/v1/plans makes one"
        )
    return _report(desk, newest[0].id, form)


@router.get("/{plan}", response_model=ReportShown, responses=FORMS)
def of_plan(desk: Viewer, plan: str, form: Form = None) -> Response:
    """Of a plan, or of the last one of a day, as 2026-11-21: a page that opens anywhere, or what `format` or `Accept`
    ask for.
    """
    return _report(desk, _of_day(desk, day) if (day := _day(plan)) else plan, form)


def _day(said: str) -> date | None:
    """No plan's id has dashes where a date has them."""
    try:
        return date.fromisoformat(said) if said[4:5] == "-" else None
    except ValueError:
        return None


def _of_day(desk: Desk, day: date) -> str:
    made = [one.id for one in desk.views.headlines() if one.created.date() == day]
    if not made:
        raise Unknown(
            f"the report of {day}",
            "no plan was made on that day",
            kept="nothing was changed",
            advice="GET /api/v1/reports lists the days that have one",
        )
    return made[0]


def _report(desk: Desk, plan: str, form: str | None) -> Response:
    wanted = form or _accepted(desk.request.headers.get("accept", ""))
    data = gather(desk.settings, desk.store, the_plan(desk, plan), desk.now)
    return told(desk.request, FORMATS[wanted](data), MEDIA[wanted])


def _accepted(header: str) -> str:
    """The first of ours that is named; a browser, and who takes anything, gets the page."""
    named = {one.partition(";")[0].strip().lower() for one in header.split(",")} - {""}
    if form := next((form for form, media in MEDIA.items() if media in named), ""):
        return form
    if not named or named & {"*/*", "text/*"}:
        return "html"
    if "application/*" in named:
        return "json"
    raise HTTPException(406)

"""Reports with the content of the file that a night writes, made on demand."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query, Response

from flex.errors import NoData, Unknown
from flex_api.report import print_pdf
from flex_api.report.content import ReportData
from flex_api.report.gather import gather
from flex_api.report.json_and_markdown import FORMATS, MEDIA
from flex_api.routes.plans import the_plan
from flex_api.schemas.request_and_list_base import TimedQuery
from flex_api.schemas.rest_bodies import ReportRow, ReportShown, ReportsPage
from flex_api.web.etag_responses import accepted_form, etag_of, made_response, page_response
from flex_api.web.paging import page
from flex_api.web.request_context import Desk, Viewer, require_turn

router = APIRouter(prefix="/api/v1/reports", tags=["reports"])


PDF = "application/pdf"
# Any, below: plain JSON of the API's description.
FORMS: dict[int | str, dict[str, Any]] = {
    200: {
        "content": {
            "text/html": {"schema": {"type": "string"}},
            "text/markdown": {"schema": {"type": "string"}},
            PDF: {"schema": {"type": "string", "format": "binary"}},
        }
    }
}
Form = Annotated[Literal["html", "json", "md", "pdf"] | None, Query(alias="format")]


PRINTED_IN_TURN = require_turn(
    lambda request: (
        request.query_params.get("format") == "pdf" or PDF in request.headers.get("accept", "")
    )
)


class ReportsQuery(TimedQuery):
    sort: Literal["-created", "created"] = "-created"
    state: Annotated[
        Literal["proposed", "applying", "applied", "discarded", "failed"] | None, Query()
    ] = None


@router.get("", response_model=ReportsPage)
def reports(desk: Viewer, query: Annotated[ReportsQuery, Query()]) -> Response:
    """There is one of every plan; `since` and `until` go by when that was made."""
    rows = [
        headline
        for headline in desk.views.headlines()
        if query.state in (None, headline.state) and query.holds(headline.created)
    ]
    rows_page = page(
        rows,
        {"created": lambda headline: headline.created.isoformat(timespec="microseconds")},
        lambda headline: headline.id,
        query,
    )
    items = [
        ReportRow(plan=headline.id, created=headline.created, formats=list(MEDIA))
        for headline in rows_page.items
    ]
    return page_response(desk.request, ReportsPage(items=items, next=rows_page.next))


@router.get("/latest", response_model=ReportShown, responses=FORMS, dependencies=[PRINTED_IN_TURN])
def latest(desk: Viewer, form: Form = None) -> Response:
    """The report of the latest plan: a page that opens anywhere, or what `format` or `Accept` ask
    for.
    """
    newest = desk.views.headlines()
    if not newest:
        raise NoData("the latest report", "there is no plan", advice="POST /api/v1/plans makes one")
    return _report(desk, newest[0].id, form)


@router.get("/{plan}", response_model=ReportShown, responses=FORMS, dependencies=[PRINTED_IN_TURN])
def of_plan(desk: Viewer, plan: str, form: Form = None) -> Response:
    """The report of a plan, or of the last one of a day, as 2026-11-21: a page that opens anywhere,
    or what `format` or `Accept` ask for.
    """
    return _report(desk, _plan_of_day(desk, day) if (day := _day(plan)) else plan, form)


def _day(text: str) -> date | None:
    """No plan's id has dashes where a date has them."""
    try:
        return date.fromisoformat(text) if text[4:5] == "-" else None
    except ValueError:
        return None


def _plan_of_day(desk: Desk, day: date) -> str:
    plan_ids = [
        headline.id for headline in desk.views.headlines() if headline.created.date() == day
    ]
    if not plan_ids:
        raise Unknown(
            f"the report of {day}",
            "no plan was made on that day",
            advice="GET /api/v1/reports lists the days that have one",
        )
    return plan_ids[0]


def _report(desk: Desk, plan: str, form: str | None) -> Response:
    wanted = form or accepted_form(desk.request, MEDIA, "html")
    data = gather(desk.settings, desk.store, the_plan(desk, plan), desk.now)
    # It says when it was made, and a printer when it printed; but for that the same is the same.
    same = _text(replace(data, made=data.plan.created), wanted).encode()
    return made_response(
        desk.request, f"W/{etag_of(same)}", lambda: _bytes(data, wanted), MEDIA[wanted]
    )


def _text(data: ReportData, form: str) -> str:
    return FORMATS["html" if form == "pdf" else form](data)


def _bytes(data: ReportData, form: str) -> bytes:
    text = _text(data, form)
    return print_pdf.pdf(text) if form == "pdf" else text.encode()

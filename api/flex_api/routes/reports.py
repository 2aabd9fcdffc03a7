"""Reports: the same content as the file that a night writes, made when it is asked for."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import APIRouter, Query, Response
from fastapi.responses import HTMLResponse

from flex.errors import NoData
from flex_api import report
from flex_api.gather import gather
from flex_api.rest_schemas import ListQuery, ReportRow, ReportsPage
from flex_api.routes.plans import the_plan
from flex_api.web.answers import listed
from flex_api.web.desk import Desk, Viewer
from flex_api.web.paging import page

router = APIRouter(prefix="/api/v1/reports", tags=["reports"])


class ReportsQuery(ListQuery):
    sort: Literal["-created", "created"] = "-created"
    state: Annotated[Literal["proposed", "applying", "applied", "discarded", "failed"] | None, Query()] = None


@router.get("", response_model=ReportsPage)
def reports(desk: Viewer, query: Annotated[ReportsQuery, Query()]) -> Response:
    """There is one of every plan; as JSON, it is the plan itself."""
    rows = [one for one in desk.views.headlines() if query.state in (None, one.state)]
    found = page(
        rows,
        {"created": lambda one: one.created.isoformat(timespec="microseconds")},
        lambda one: one.id,
        sort=query.sort,
        limit=query.limit,
        cursor=query.cursor,
    )
    items = [ReportRow(plan=one.id, created=one.created, formats=["html"]) for one in found.items]
    return listed(desk.request, ReportsPage(items=items, next=found.next), found.next)


@router.get("/latest", response_class=HTMLResponse)
def latest(desk: Viewer) -> str:
    """Of the latest plan, as one HTML file that opens anywhere."""
    newest = desk.views.headlines()
    if not newest:
        raise NoData(
            "the latest report", "there is no plan", kept="nothing was changed", advice="POST /api/v1/plans makes one"
        )
    return _html(desk, newest[0].id)


@router.get("/{plan}", response_class=HTMLResponse)
def of_plan(desk: Viewer, plan: str) -> str:
    """Of one plan."""
    return _html(desk, plan)


def _html(desk: Desk, plan: str) -> str:
    return report.html(gather(desk.settings, desk.store, the_plan(desk, plan), desk.now))

"""Data: can the logs be trusted? How old they are, what in them could not be read, what each reading counted."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response
from fastapi.responses import HTMLResponse

from flex.domain import Period
from flex_api import trust
from flex_api.log_schemas import DataOutput
from flex_api.pages.forms import TheForm, asked, given
from flex_api.pages.frame import show, told
from flex_api.pages.plans import followed, following
from flex_api.rest_schemas import IngestGiven, IngestsPage, JobShown
from flex_api.routes import data
from flex_api.routes.data import IngestsQuery
from flex_api.web.desk import Desk, Operator, Viewer

router = APIRouter(include_in_schema=False)

MOST = 300


@router.get("/data", response_class=HTMLResponse)
def page(desk: Viewer, request: Request) -> Response:
    query = asked(IngestsQuery, request)
    found = told(IngestsPage, data.ingests(desk, query))
    quality = _quality(desk)
    states = [row.state for row in quality.nodes]
    return show(
        desk,
        "data.html",
        "/data",
        quality=quality,
        bad=states.count("bad"),
        warned=states.count("warn"),
        found=found,
        query=query,
        most=MOST,
        clock=desk.house.clock(),
        following=following(request, found.next),
    )


def _quality(desk: Desk) -> DataOutput:
    """As the next plan would judge them."""
    now = desk.house.clock()
    period = Period.days_before(now, desk.settings.profile.window.days)
    return trust.data_output(trust.judged(desk.settings, desk.store, period, now), period)


@router.post("/data/read")
def read(desk: Operator, form: TheForm) -> Response:
    return followed(told(JobShown, data.ingest(desk, given(IngestGiven, form))))

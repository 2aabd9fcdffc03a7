"""Data: can the logs be trusted? How old they are, what in them could not be read, what each reading counted."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response
from fastapi.responses import HTMLResponse

from flex_api.known import trust
from flex_api.pages.forms import TheForm, asked, given
from flex_api.pages.frame import show, told
from flex_api.pages.plans import followed, following
from flex_api.pages.trouble import quality
from flex_api.routes import data
from flex_api.routes.data import IngestsQuery
from flex_api.schemas.rest import IngestGiven, IngestsPage, JobShown
from flex_api.web.desk import Operator, Viewer

router = APIRouter(include_in_schema=False)

MOST = 300


@router.get("/data", response_class=HTMLResponse)
def page(desk: Viewer, request: Request) -> Response:
    query = asked(IngestsQuery, request)
    found = told(IngestsPage, data.ingests(desk, query))
    period, judged = quality(desk)
    output = trust.data_output(judged, period)
    states = [row.state for row in output.nodes]
    return show(
        desk,
        "data.html",
        "/data",
        quality=output,
        bad=states.count("bad"),
        warned=states.count("warn"),
        found=found,
        query=query,
        most=MOST,
        following=following(request, found.next),
    )


@router.post("/data/read")
def read(desk: Operator, form: TheForm) -> Response:
    return followed(told(JobShown, data.ingest(desk, given(IngestGiven, form))))

"""A job while it is done: its stage, and where it led once it has ended."""

from __future__ import annotations

from fastapi import APIRouter, Response
from fastapi.responses import HTMLResponse, RedirectResponse

from flex_api.pages.forms import DONE, TheForm, done
from flex_api.pages.frame import show, told
from flex_api.routes import jobs
from flex_api.schemas.rest import JobShown
from flex_api.web.desk import Operator, Viewer

router = APIRouter(include_in_schema=False)

API = "/api/v1"


@router.get("/jobs/{job}", response_class=HTMLResponse)
def job(desk: Viewer, job: str) -> Response:
    """While it runs the page asks again by itself; where it went well, it leads to what came of it."""
    found = told(JobShown, jobs.job(desk, job))
    if found.state == "done" and found.result:
        return _led_on(desk.request.headers.get("hx-request", ""), found)
    return show(desk, "job.html", "", job=found, share=found.done / found.size if found.size else None)


def _led_on(by_script: str, found: JobShown) -> Response:
    path = {"ingest": "/data"}.get(found.kind, found.result.removeprefix(API))
    to = f"{path}?done={found.kind}" if found.kind in DONE else path
    # A script follows a redirect by itself and would put that page into this one.
    return Response(headers={"HX-Redirect": to}) if by_script else RedirectResponse(to, 303)


@router.post("/jobs/{job}/cancel")
def cancel(desk: Operator, job: str, _form: TheForm) -> Response:
    jobs.cancel(desk, job)
    return done("cancelled", f"/jobs/{job}")

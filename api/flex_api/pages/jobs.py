"""A job while it runs: its stage, and what came out of it once it has ended."""

from __future__ import annotations

from fastapi import APIRouter, Response
from fastapi.responses import HTMLResponse

from flex_api.pages.forms import DONE, TheForm, led_on, redirect_after
from flex_api.pages.frame import as_model, show
from flex_api.routes import jobs
from flex_api.schemas.rest_bodies import JobShown
from flex_api.web.request_context import Operator, Viewer

router = APIRouter(include_in_schema=False)

API = "/api/v1"


@router.get("/jobs/{job}", response_class=HTMLResponse)
def job(desk: Viewer, job: str) -> Response:
    """While it runs the page asks again by itself; where it went well, it leads to what came of
    it.
    """
    job_shown = as_model(JobShown, jobs.job(desk, job))
    if job_shown.state == "done" and job_shown.result:
        return led_on(desk.request, _result(job_shown))
    return show(
        desk,
        "job.html",
        "",
        job=job_shown,
        share=job_shown.done / job_shown.size if job_shown.size else None,
    )


def _result(job_shown: JobShown) -> str:
    """The page of what came of it."""
    path = {"ingest": "/data"}.get(job_shown.kind, job_shown.result.removeprefix(API))
    return f"{path}?done={job_shown.kind}" if job_shown.kind in DONE else path


@router.post("/jobs/{job}/cancel")
def cancel(desk: Operator, job: str, _form: TheForm) -> Response:
    jobs.cancel(desk, job)
    return redirect_after("cancelled", f"/jobs/{job}")

"""Jobs: work that takes longer than an answer, followed while it is done and ended at a safe
point.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Annotated, Literal

from fastapi import APIRouter, Query, Response
from starlette.concurrency import run_in_threadpool
from starlette.responses import StreamingResponse

from flex.errors import Unauthenticated
from flex.model.jobs import Job, JobState
from flex_api import work_in_background as working
from flex_api.routes.problems import describe
from flex_api.schemas.request_and_list_base import CLEAN, TimedQuery
from flex_api.schemas.rest_bodies import JobShown, JobsPage
from flex_api.web.caller_identity import AskedOfGate
from flex_api.web.etag_responses import page_response, reply
from flex_api.web.paging import page
from flex_api.web.request_context import Desk, Operator, Viewer

router = APIRouter(prefix="/api/v1/jobs", tags=["jobs"])

EVENTS = "text/event-stream"
# Seconds between two looks at a job that somebody follows. A guess.
LOOK = 0.25
# After so many looks without news a sign of life is sent: every 15 seconds. A guess.
QUIET = 60


class JobsQuery(TimedQuery):
    sort: Literal["-created", "created", "kind", "-kind", "state", "-state"] = "-created"
    state: Annotated[JobState | None, Query()] = None
    kind: Annotated[str, Query(max_length=50, pattern=CLEAN)] = ""
    author: Annotated[str, Query(max_length=255, pattern=CLEAN)] = ""


@router.get("", response_model=JobsPage)
def jobs(desk: Viewer, query: Annotated[JobsQuery, Query()]) -> Response:
    """The latest thousand, newest first; `since` and `until` go by when they were asked for."""
    every = map(working.as_it_is, desk.store.jobs(1000))
    rows = [
        job
        for job in every
        if query.state in (None, job.state)
        and query.kind in ("", job.kind)
        and query.author in ("", job.author)
        and query.holds(job.created)
    ]
    rows_page = page(
        rows,
        {
            "created": lambda job: job.created.isoformat(),
            "kind": lambda job: job.kind,
            "state": lambda job: job.state,
        },
        lambda job: job.id,
        query,
    )
    return page_response(
        desk.request, JobsPage(items=list(map(job_model, rows_page.items)), next=rows_page.next)
    )


@router.get("/{job}", response_model=JobShown)
def job(desk: Viewer, job: str) -> Response:
    """How far it is, and what came of it."""
    return reply(desk.request, job_model(working.find(desk.store, job)))


@router.delete("/{job}", status_code=202, response_model=JobShown)
def cancel(desk: Operator, job: str) -> Response:
    """End it at the next safe point. Once DNS is being changed it goes on to its end."""
    return reply(desk.request, job_model(working.cancel(desk.store, job, desk.caller.name)), 202)


@router.get(
    "/{job}/events",
    response_class=StreamingResponse,
    responses={200: {"content": {EVENTS: {"schema": {"type": "string"}}}}},
)
def events(desk: Viewer, job: str) -> StreamingResponse:
    """Its progress as server-sent events: `progress` with the job each time it changes, `end` with
    the last.
    """
    working.find(desk.store, job)
    return StreamingResponse(_tell(desk, job), media_type=EVENTS)


async def _tell(desk: Desk, job_id: str) -> AsyncIterator[str]:
    last, quiet = "", 0
    # The stream may last for hours, and who listens may have lost the right to.
    while await run_in_threadpool(_may_listen, desk):
        job = await run_in_threadpool(working.find, desk.store, job_id)
        job_json = job_model(job).model_dump_json()
        if job_json != last:
            last, quiet = job_json, 0
            yield f"event: {'progress' if job.live else 'end'}\ndata: {job_json}\n\n"
        if not job.live:
            return
        quiet += 1
        if quiet % QUIET == 0:
            yield ": still at it\n\n"
        await asyncio.sleep(LOOK)


def _may_listen(desk: Desk) -> bool:
    request = desk.request
    gate_request = AskedOfGate(
        "GET", request.client.host if request.client else "", request.headers
    )
    try:
        caller = desk.house.gate.caller(gate_request, desk.now)
    except Unauthenticated:
        return False
    return caller is not None and caller.may("viewer")


def job_model(job: Job) -> JobShown:
    if job.state == "failed" and not job.problem:
        problem = describe(working.interrupted_error(job), f"/api/v1/jobs/{job.id}")
        job = replace(job, stage="failed", problem=problem)
    return JobShown.like(job, problem=json.loads(job.problem) if job.problem else None)

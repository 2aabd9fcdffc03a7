"""What was read of the logs, and the runs that read it."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import APIRouter, Query, Response

from flex.model.log_reading import Segment
from flex.model.nightly_run import NightlyRun
from flex_api.facts import core_to_output_models
from flex_api.facts.choose_log_sources import AskedSources, choose
from flex_api.facts.log_files_not_read import error_of_unread
from flex_api.in_words import amounts
from flex_api.night import nightly
from flex_api.routes.jobs import job_model
from flex_api.schemas.request_and_list_base import CLEAN, TimedQuery
from flex_api.schemas.rest_bodies import (
    IngestGiven,
    IngestRow,
    IngestsPage,
    JobShown,
    RunsPage,
)
from flex_api.web.etag_responses import page_response, reply
from flex_api.web.paging import Order, decode, encode, page
from flex_api.web.request_context import Operator, Viewer
from flex_api.wiring import World, sources
from flex_api.work_in_background import DoneInPart, Follow

router = APIRouter(prefix="/api/v1", tags=["data"])


class IngestsQuery(TimedQuery):
    sort: Literal["-read_at", "read_at"] = "-read_at"
    source: Annotated[str, Query(max_length=255, pattern=CLEAN)] = ""
    node: Annotated[str, Query(max_length=255, pattern=CLEAN)] = ""


@router.get("/ingests", response_model=IngestsPage)
def ingests(desk: Viewer, query: Annotated[IngestsQuery, Query()]) -> Response:
    """What each reading of a log counted, and what it could not; `since` and `until` go by when it
    was read.
    """
    order = Order.parse(query.sort)
    after = None
    if query.cursor:
        moment, name = decode(query.cursor, order, (int, str))
        after = moment, name
    readings = desk.store.readings(
        query.limit + 1,
        after,
        down=order.down,
        source=query.source,
        node=query.node,
        since=query.since,
        until=query.until,
    )
    rows = readings[: query.limit]
    following = (
        encode(order, [rows[-1].read_at, rows[-1].id]) if len(readings) > query.limit else None
    )
    return page_response(desk.request, IngestsPage(items=list(map(_row, rows)), next=following))


def _row(read: Segment) -> IngestRow:
    return IngestRow.like(
        read,
        lines=dict(read.lines),
        reasons=dict(read.reasons),
        first_time=core_to_output_models.moment(read.first_time),
        last_time=core_to_output_models.moment(read.last_time),
        read_at=core_to_output_models.moment(read.read_at),
    )


@router.post("/ingests", status_code=202, response_model=JobShown)
def ingest(desk: Operator, given: IngestGiven) -> Response:
    """Read what is new in the logs; each line counts once. Where a file cannot be read, the job is
    done all the same, and its `problem` names the file.
    """
    desk = desk.because(given.reason)

    every = sources(desk.settings)
    chosen = choose(AskedSources((), given.source, "", "", ""), every) if given.source else None

    def work(world: World, _: Follow) -> str:
        files = nightly.ingest(world, chosen)
        lines = sum(number for file in files for _, number in file.lines)
        world.store.note("ingest", "", None, {"files": len(files), "lines": lines})
        world.say(f"{amounts.count(len(files), 'file')}, {amounts.count(lines, 'new line')}")
        if unread := error_of_unread(files):
            raise DoneInPart("/api/v1/ingests", unread)
        return "/api/v1/ingests"

    job = desk.house.workers.start(
        desk.world(), "ingest", desk.caller.name, work, desk.request.state.request_id
    )
    return reply(desk.request, job_model(job), 202, Location=f"/api/v1/jobs/{job.id}")


class RunsQuery(TimedQuery):
    sort: Literal["-started", "started"] = "-started"
    failed: Annotated[bool | None, Query(description="ended with another exit code than 0")] = None
    live: Annotated[bool | None, Query(description="still at work, or not")] = None
    exit_code: Annotated[int | None, Query(ge=0, le=255)] = None
    plan: Annotated[str, Query(max_length=100, pattern=CLEAN, description="of this plan")] = ""
    figures: Annotated[bool, Query(description="with the figures of each run's plan")] = False


@router.get("/runs", response_model=RunsPage)
def runs(desk: Viewer, query: Annotated[RunsQuery, Query()]) -> Response:
    """The latest thousand runs: every step that changed something, with its stages and its exit
    code.

    `since` and `until` go by when it really began.
    """
    rows = [
        run for run in desk.views.runs() if query.holds(run.wall_time) and _asked_for(run, query)
    ]
    rows_page = page(
        rows,
        {"started": lambda run: run.wall_time.isoformat(timespec="microseconds")},
        lambda run: run.id,
        query,
    )
    items = [
        core_to_output_models.run_row(
            run, desk.views.plan(run.plan) if query.figures and run.plan else None
        )
        for run in rows_page.items
    ]
    return page_response(desk.request, RunsPage(items=items, next=rows_page.next))


def _asked_for(run: NightlyRun, query: RunsQuery) -> bool:
    return (
        query.failed in (None, run.exit_code not in (0, None))
        and query.live in (None, run.ended is None)
        and query.exit_code in (None, run.exit_code)
        and query.plan in ("", run.plan)
    )

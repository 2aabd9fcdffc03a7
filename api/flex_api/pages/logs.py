"""Data: can the logs be trusted? How old they are, which lines could not be read, what each reading
counted.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from itertools import takewhile

from fastapi import APIRouter, Request, Response
from fastapi.responses import HTMLResponse

from flex.model.log_reading import BadLine
from flex_api.facts import core_to_output_models, logs_good_enough
from flex_api.pages.forms import TheForm, from_form, from_query
from flex_api.pages.frame import as_model, show
from flex_api.pages.plans import follow, following
from flex_api.routes import log_readings_and_runs
from flex_api.routes.log_readings_and_runs import IngestsQuery
from flex_api.schemas.log_verbs_output import DataOutput
from flex_api.schemas.rest_bodies import IngestGiven, IngestsPage, JobShown
from flex_api.status import newest_lines
from flex_api.web.request_context import Desk, Operator, Viewer
from flex_api.web.sight import quality, sight

router = APIRouter(include_in_schema=False)

# Sources and nodes on the page. A guess; the API has them all.
MOST = 300
# Bad lines that the page shows. A guess.
SAMPLES = 12


@router.get("/data", response_class=HTMLResponse)
def page(desk: Viewer, request: Request) -> Response:
    query = from_query(IngestsQuery, request)
    ingests_page = as_model(IngestsPage, log_readings_and_runs.ingests(desk, query))
    period, judged = quality(desk)
    output = logs_good_enough.data_output(
        judged, period, logs_good_enough.unused_files(desk.settings, desk.house.store, period)
    )
    states = [row.state for row in output.nodes]
    return show(
        desk,
        "data.html",
        "/data",
        quality=output,
        bad=states.count("bad"),
        warned=states.count("warn"),
        found=ingests_page,
        folder=_common_folder([row.path for row in ingests_page.items]),
        query=query,
        most=MOST,
        last_of_nodes={
            name: core_to_output_models.moment(line)
            for name, line in newest_lines(sight(desk)).items()
        },
        last_of_sources=_last_of_sources(desk, output),
        samples=_samples(desk),
        following=following(request, ingests_page.next),
    )


def _common_folder(paths: Sequence[str]) -> str:
    """With the slash at its end; empty where there is none but the root."""
    folders = zip(*(path.split("/")[:-1] for path in paths), strict=False)
    shared = [names[0] for names in takewhile(lambda names: len(set(names)) == 1, folders)]
    return "/".join([*shared, ""]) if any(shared) else ""


def _last_of_sources(desk: Desk, output: DataOutput) -> dict[str, datetime | None]:
    """When each source that is shown last had a line, however long ago that is."""
    silent = [row.name for row in output.sources[:MOST] if not row.last_line]
    last_lines = desk.views.get_or_make(
        "last-lines-of-sources",
        lambda: {
            source: logs_good_enough.last_line(desk.house.store, source=source) for source in silent
        },
    )
    return {
        row.name: row.last_line or core_to_output_models.moment(last_lines.get(row.name, 0))
        for row in output.sources[:MOST]
    }


def _samples(desk: Desk) -> list[tuple[str, BadLine]]:
    """The newest first."""
    read = desk.views.get_or_make(
        "samples", lambda: desk.house.store.readings(logs_good_enough.LATEST)
    )
    return [(reading.path, bad) for reading in read for bad in reading.samples][:SAMPLES]


@router.post("/data/read")
def read(desk: Operator, form: TheForm) -> Response:
    return follow(
        as_model(JobShown, log_readings_and_runs.ingest(desk, from_form(IngestGiven, form)))
    )

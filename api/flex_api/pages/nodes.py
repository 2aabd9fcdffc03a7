"""Nodes: what each carries, when it is busy, how good its prediction was; and taking one out of service."""

from __future__ import annotations

from typing import Annotated, Literal

import numpy as np
from fastapi import APIRouter, Query, Request, Response
from fastapi.responses import HTMLResponse

from flex.suppose import Supposition
from flex_api.known.catalogue import Wanted
from flex_api.night import nodes as noding
from flex_api.pages.forms import TheForm, asked, done, given, moment
from flex_api.pages.frame import show, told
from flex_api.pages.past import past
from flex_api.pages.trouble import latest_weeks
from flex_api.pictures.charts import Load
from flex_api.pictures.lines import DAYS, Heat, Pairs, heat, pairs
from flex_api.routes import nodes
from flex_api.routes.nodes import NodesQuery
from flex_api.schemas.night import NodeRow
from flex_api.schemas.rest import DrainGiven, NodesPage
from flex_api.web.answers import Condition, etag
from flex_api.web.desk import Desk, Operator, Viewer
from flex_api.wishes import supposing

router = APIRouter(include_in_schema=False)

WEEKS, SITES, FAR = 4, 50, 0.1
HOURS = tuple(f"{hour:02}" for hour in range(24))


@router.get("/nodes", response_class=HTMLResponse)
def every(desk: Viewer, request: Request) -> Response:
    query = asked(NodesQuery, request)
    found = told(NodesPage, nodes.nodes(desk, query.model_copy(update={"limit": 1000})))
    _, cycle = desk.views.base()
    fair = {load.node: load.fair for load in cycle.after.nodes} if cycle else {}
    measured = predicted(desk)
    return show(
        desk,
        "nodes.html",
        "/nodes",
        found=found,
        query=query,
        fair=fair,
        worst=cycle.after if cycle and cycle.after.worst_node else None,
        tolerance=desk.settings.solver.tolerance,
        hours=desk.views.of("hours of nodes", ("run.end", "ingest"), lambda: _hours_of_day(desk)),
        weeks=latest_weeks(desk, WEEKS),
        pairs=measured[0],
        measured=measured[1],
    )


def predicted(desk: Desk) -> tuple[Pairs | None, tuple[tuple[str, float, float], ...]]:
    """What the newest plan found of the prediction before it."""
    newest = next((one for one in past(desk) if one.predicted), None)
    if newest is None:
        return None, ()
    rows = tuple((node, then / 100, now / 100) for node, then, now in newest.predicted)
    return pairs("Access rate, predicted and then measured", rows, FAR), rows


def hours_of(desk: Desk) -> dict[str, np.ndarray]:
    """Answers of each node in each hour of the week, on the mean of the last weeks."""
    period = latest_weeks(desk, WEEKS)
    found: dict[str, np.ndarray] = {}
    weeks: set[int] = set()
    for segment in desk.store.segments(period.first_day, period.last_day):
        for hour, answers in segment.hours:
            if period.first_day <= hour // 24 <= period.last_day:
                weeks.add((hour + 72) // 168)
                # 1 January 1970 was a Thursday.
                found.setdefault(segment.node, np.zeros(168))[(hour + 72) % 168] += answers
    return {node: week / len(weeks) for node, week in sorted(found.items())}


def _hours_of_day(desk: Desk) -> Heat | None:
    found = hours_of(desk)
    rows = [(node, (week.reshape(7, 24).sum(axis=0) / 7).tolist()) for node, week in found.items()]
    return heat("Answers of each node in each hour of the day, UTC", rows, HOURS, "answers") if rows else None


@router.get("/node", response_class=HTMLResponse)
def one(
    desk: Viewer,
    name: Annotated[str, Query(max_length=255)],
    preview: Annotated[Literal["", "drain"], Query()] = "",
) -> Response:
    row = told(NodeRow, nodes.node(desk, name))
    found = desk.views.catalogue()
    rows, more = found.page(Wanted(node=row.node), "-access_bytes", SITES, None)
    week = hours_of(desk).get(row.node)
    notes = noding.stopped_by(desk.world(), row.node, "draining") if preview else []
    _, cycle = desk.views.base()
    load = next((one for one in cycle.after.nodes if one.node == row.node), None) if cycle else None
    measured = [one for one in predicted(desk)[1] if one[0] == row.node]
    return show(
        desk,
        "node.html",
        "/nodes",
        node=row,
        etag=etag(row),
        sites=[(str(found.sites[at]), found.measured(at), found.nodes_of(at)) for at in rows],
        more=more,
        load=load,
        loads=_loads(load.access / load.fair, load.working_set / load.fair) if load and load.fair else (),
        tolerance=desk.settings.solver.tolerance,
        measured=measured[0] if measured else None,
        hours=None if week is None else _of_week(row.node, week),
        weeks=latest_weeks(desk, WEEKS),
        preview=supposing.what_if(desk.world(), Supposition(lost=(row.node,))) if preview else None,
        notes=notes,
        limits=desk.settings.safety,
    )


def _loads(access: float, held: float) -> tuple[Load, ...]:
    return Load("access rate", None, access), Load("working set", None, held)


def _of_week(node: str, week: np.ndarray) -> Heat:
    rows = [(day, week[at * 24 : at * 24 + 24].tolist()) for at, day in enumerate(DAYS)]
    return heat(f"Answers of {node} in each hour of the week, UTC", rows, HOURS, "answers")


@router.post("/node/drain")
def drain(desk: Operator, form: TheForm) -> Response:
    """Give its sites away from the next plan on, or first show what that would do."""
    name = form.text("name")
    if form.text("do") == "preview":
        return done("", "/node", name=name, preview="drain")
    deadline = moment(form.text("deadline"), "deadline")
    wanted = given(DrainGiven, form, **({"deadline": deadline} if deadline else {}))
    nodes.drain(desk, name, wanted, Condition(if_match=form.text("etag")))
    return done("drained", "/node", name=name)


@router.post("/node/undrain")
def undrain(desk: Operator, form: TheForm) -> Response:
    name = form.text("name")
    nodes.undrain(desk, name, Condition(if_match=form.text("etag")), given(DrainGiven, form).reason)
    return done("undrained", "/node", name=name)

"""Nodes: what each carries, when it is busy, how good its prediction was, and taking one out of
service.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import takewhile
from typing import Annotated, Literal

import numpy as np
from fastapi import APIRouter, Query, Request, Response
from fastapi.responses import HTMLResponse, RedirectResponse

from flex.model.balance import NodeLoad
from flex.model.plan import Plan
from flex.planning.what_if import WhatIf
from flex_api.facts.site_table import Catalogue, SiteFilter
from flex_api.facts.traffic_by_hour import HoursInLogs
from flex_api.in_words import amounts, site_moves_text
from flex_api.night import change_nodes as noding
from flex_api.pages.cached_nights import past
from flex_api.pages.forms import (
    TheForm,
    address,
    from_form,
    from_query,
    moment,
    redirect_after,
)
from flex_api.pages.frame import as_model, show
from flex_api.pictures import chart_geometry
from flex_api.pictures.chart_geometry import ROUNDING, Bars, Load
from flex_api.pictures.time_and_forecast_charts import HOURS, Heat, Pairs, heat, pairs, week
from flex_api.report.gather import spread_of
from flex_api.routes import nodes
from flex_api.routes.nodes import NodesQuery
from flex_api.schemas.nodes_and_jobs import NodeRow
from flex_api.schemas.rest_bodies import DrainGiven, NodesPage
from flex_api.web.etag_responses import Condition, etag
from flex_api.web.moves_by_page import few_moves
from flex_api.web.request_context import Desk, Operator, Viewer
from flex_api.web.sight import latest_hours
from flex_api.wishes import what_if_frontier_compare

router = APIRouter(include_in_schema=False)

# What a preview of a drain hands on to the form below it.
STATED = ("deadline", "reason")
# Sites of a node in the table on its page. A guess; the list of sites has them all.
SITES = 20
# Sites of a node that the picture shows one by one. A guess.
DRAWN = 10
# A node's prediction stands out when it was wrong by more than this part. A guess.
FAR = 0.1


@router.get("/nodes", response_class=HTMLResponse)
def every(desk: Viewer, request: Request) -> Response:
    query = from_query(NodesQuery, request)
    nodes_page = as_model(NodesPage, nodes.nodes(desk, query.model_copy(update={"limit": 1000})))
    _, plan = desk.views.base()
    fair = {load.node: load.fair for load in plan.after.nodes} if plan else {}
    measured, weeks = predictions(desk), latest_hours(desk)
    return show(
        desk,
        "nodes.html",
        "/nodes",
        found=nodes_page,
        query=query,
        fair=fair,
        held=working_set_by_node(desk),
        worst=plan.after if plan and plan.after.worst_node else None,
        tolerance=desk.settings.solver.tolerance,
        hours=_hours_of_day(weeks),
        days=weeks.days,
        pairs=measured[0],
        measured=measured[1],
    )


def working_set_by_node(desk: Desk) -> dict[str, int]:
    """Bytes of the files that sites of a node work with; of a site on several nodes the part that
    comes to each.
    """
    catalogue = desk.views.rows_as_planned()
    base, _ = desk.views.base()
    on_each = catalogue.columns["working_set"].copy()
    for site, each in spread_of(desk.store, base).items() if base else ():
        if (row := catalogue.row_of(site)) is not None:
            on_each[row] = each
    names, at = np.unique(catalogue.nodes, return_inverse=True)
    of_rows = np.repeat(on_each, np.diff(catalogue.first))
    held = np.bincount(at, of_rows, len(names))
    return dict(zip(names.tolist(), held.astype(int).tolist(), strict=True))


def predictions(desk: Desk) -> tuple[Pairs | None, tuple[tuple[str, float, float], ...]]:
    """What the newest plan found of the prediction before it."""
    newest = next((night for night in past(desk) if night.predicted), None)
    if newest is None:
        return None, ()
    rows = tuple((node, then / 100, now / 100) for node, then, now in newest.predicted)
    return pairs("Access rate, predicted and then measured", rows, FAR), rows


def _hours_of_day(weeks: HoursInLogs) -> Heat | None:
    hours = weeks.means_by_hour_of_day()
    title = "Answers of each node in each hour of the day, UTC"
    return heat(title, list(hours.items()), HOURS, "answers") if hours else None


@router.get("/node", response_class=HTMLResponse)
def node_page(
    desk: Viewer,
    request: Request,
    name: Annotated[str, Query(max_length=255)],
    preview: Annotated[Literal["", "drain"], Query()] = "",
) -> Response:
    row = as_model(NodeRow, nodes.node(desk, name))
    catalogue = desk.views.catalogue()
    rows, more = catalogue.page(SiteFilter(node=row.node), "-access_bytes", SITES, None)
    weeks = latest_hours(desk)
    hours = weeks.means_by_hour_of_week().get(row.node)
    notes = noding.stopped_by(desk.world(), row.node, "draining") if preview else []
    _, plan = desk.views.base()
    loads, tolerance = _loads(plan, row.node), desk.settings.solver.tolerance
    measured = [prediction for prediction in predictions(desk)[1] if prediction[0] == row.node]
    without = _preview_loss(desk, row.node) if preview else None
    waits = _waits_for_next_plan(row, plan)
    effect = nodes.effect_of(desk, row.node) if waits else None
    return show(
        desk,
        "node.html",
        "/nodes",
        node=row,
        etag=etag(row),
        sites=[
            (str(catalogue.sites[at]), catalogue.measures(at), catalogue.nodes_of(at))
            for at in rows
        ],
        more=more,
        loads=loads,
        bars=chart_geometry.loads("Its load", loads, tolerance, chart_geometry.scale(loads))
        if loads
        else None,
        busiest=_busiest(desk.views.rows_as_planned(), row.node),
        held=working_set_by_node(desk).get(row.node),
        tolerance=tolerance,
        measured=measured[0] if measured else None,
        hours=week(f"Answers of {row.node}", hours, "answers") if hours is not None else None,
        days=weeks.days,
        waits=waits,
        effect=effect,
        previewed=bool(preview),
        preview=without,
        pending=(preview and without is None) or (waits and effect is None),
        notes=notes,
        stated={key: request.query_params.get(key, "") for key in STATED},
        limits=desk.settings.safety,
        site_moves=few_moves(desk, node=row.node),
        words=site_moves_text,
    )


def _waits_for_next_plan(row: NodeRow, in_force: Plan | None) -> bool:
    """Whether sites are still to leave it, or whether it was taken back and no plan was applied
    since. A node that is down is off DNS at once, or every page says that it is not.
    """
    if row.state == "draining":
        return row.sites > 0
    settled = in_force.settled if in_force else None
    return bool(row.state == "active" and row.since and settled and row.since > settled)


def _preview_loss(desk: Desk, node: str) -> WhatIf | None:
    """What would be done without it; None while that is being worked out."""
    world = desk.world()
    return desk.house.later.ask(
        f"without {node}", lambda: what_if_frontier_compare.suppose_node_lost(world, node)
    )


def _loads(plan: Plan | None, node: str) -> tuple[Load, ...]:
    """The loads of all that is balanced, before the partition in force and under it."""
    load = (
        next((node_load for node_load in plan.after.nodes if node_load.node == node), None)
        if plan
        else None
    )
    if plan is None or load is None or not load.fair:
        return ()
    was = (
        next((node_load for node_load in plan.before.nodes if node_load.node == node), None)
        if plan.before
        else None
    )
    before = _shares(was) if was and was.fair else {}
    return tuple(Load(name, before.get(name), now) for name, now in _shares(load).items())


def _shares(load: NodeLoad) -> dict[str, float]:
    """By dimension, as parts of the fair share of the node."""
    units = {"access rate": load.access, "working set": load.working_set}
    return {name: each / load.fair for name, each in (units | dict(load.others)).items()}


def _busiest(catalogue: Catalogue, node: str) -> Bars | None:
    """What share of all that the node sends its busiest sites are; a site is asked for alike on
    each of its nodes.
    """
    rows, _ = catalogue.page(SiteFilter(node=node), "-access_bytes", DRAWN, None)
    replicas = np.maximum(np.diff(catalogue.first), 1)
    sent = catalogue.columns["access_bytes"] / replicas
    total = float(sent[catalogue.mask(SiteFilter(node=node))].sum())
    if not total:
        return None
    shares = [(str(catalogue.sites[at]), float(sent[at]) / total) for at in rows]
    zone = _common_zone([name for name, _ in shares])
    others = 1 - sum(share for _, share in shares)
    drawn = [*shares, *([("all others", others)] if others > ROUNDING else [])]
    return chart_geometry.quantities(
        f"What it sends, by site of {zone[1:]}" if zone else "What it sends, by site",
        [(name.removesuffix(zone) or name, part, amounts.share(part)) for name, part in drawn],
        strong="",
    )


def _common_zone(names: Sequence[str]) -> str:
    """What several names have in common at their end, from a dot on, such as .example.org."""
    ends = zip(*(name.split(".")[::-1] for name in names), strict=False)
    shared = [labels[0] for labels in takewhile(lambda labels: len(set(labels)) == 1, ends)]
    several = len(names) > 1 and len(shared) > 1
    return "".join(f".{label}" for label in reversed(shared)) if several else ""


@router.post("/node/drain")
def drain(desk: Operator, form: TheForm) -> Response:
    """Give its sites away from the next plan on, or first show what that would do."""
    name = form.text("name")
    if form.text("do") == "preview":
        stated = {key: form.text(key) for key in STATED}
        return RedirectResponse(
            address("/node", name=name, preview="drain", **stated) + "#preview", 303
        )
    deadline = moment(form.text("deadline"), "deadline")
    wanted = from_form(DrainGiven, form, **({"deadline": deadline} if deadline else {}))
    nodes.drain(desk, name, wanted, Condition(if_match=form.text("etag")))
    return redirect_after("drained", "/node", name=name)


@router.post("/node/undrain")
def undrain(desk: Operator, form: TheForm) -> Response:
    name = form.text("name")
    nodes.undrain(
        desk, name, Condition(if_match=form.text("etag")), from_form(DrainGiven, form).reason
    )
    return redirect_after("undrained", "/node", name=name)

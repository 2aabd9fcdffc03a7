"""Earlier nights: how balanced they were, what was predicted and then measured, what moved, how the
runs ended.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from fastapi import APIRouter, Query, Request, Response
from fastapi.responses import HTMLResponse

from flex_api.in_words import amounts
from flex_api.pages.cached_nights import Past, past
from flex_api.pages.forms import from_query
from flex_api.pages.frame import as_model, show
from flex_api.pages.plans import following
from flex_api.pictures.chart_geometry import Columns, counts
from flex_api.pictures.time_and_forecast_charts import Lines, Value, lines
from flex_api.routes import log_readings_and_runs
from flex_api.routes.log_readings_and_runs import RunsQuery
from flex_api.schemas.request_and_list_base import CLEAN
from flex_api.schemas.rest_bodies import RunsPage
from flex_api.schemas.what_if_output import DiffOutput
from flex_api.web.request_context import Desk, Viewer
from flex_api.wishes import what_if_frontier_compare

router = APIRouter(include_in_schema=False)

Id = Annotated[str, Query(max_length=100, pattern=CLEAN)]


@router.get("/history", response_class=HTMLResponse)
def history(desk: Viewer, request: Request, one: Id = "", other: Id = "") -> Response:
    query = from_query(RunsQuery, request, "one", "other")
    runs_page = as_model(RunsPage, log_readings_and_runs.runs(desk, query))
    nights = past(desk)
    compared = _compare(desk, one, other or "current") if one else None
    errors = sorted(night.error for night in nights if night.error is not None)
    return show(
        desk,
        "history.html",
        "/history",
        nights=nights,
        balance=_balance(
            nights[::-1], desk.settings.solver.tolerance, desk.settings.safety.trigger_imbalance
        ),
        moves=_moves(nights[::-1]),
        errors=errors,
        median=errors[len(errors) // 2] if errors else None,
        runs=runs_page,
        query=query,
        one=one or (nights[1].plan if len(nights) > 1 else ""),
        other=other,
        compared=compared,
        pending=one and compared is None,
        following=following(request, runs_page.next),
    )


def _compare(desk: Desk, plan: str, other: str) -> DiffOutput | None:
    """None while it is being worked out: a partition of many sites is large."""
    world = desk.world()
    return desk.house.later.ask(
        f"{plan} and {other}", lambda: what_if_frontier_compare.difference(world, plan, other)
    )


def _balance(nights: Sequence[Past], aim: float, trigger: float) -> Lines | None:
    """The worst node before each night, as it was measured, above what the night before had
    predicted for it.
    """
    if len(nights) < 2:
        return None
    measured = [
        Value(
            at,
            night.before,
            f"{night.settled:%d %b}: {amounts.share(night.before)} before the night",
        )
        for at, night in enumerate(nights)
        if night.before is not None
    ]
    predicted = [
        Value(
            at + 1,
            night.after,
            f"{amounts.share(night.after)} predicted on {night.settled:%d %b} for the next night",
        )
        for at, night in enumerate(nights)
    ]
    return lines(
        "The worst node, night by night",
        f"{len(nights)} nights; last {amounts.share(nights[-1].after)} predicted, the "
        f"aim is {amounts.share(aim)}.",
        [
            ("measured before the night", "one", measured),
            ("predicted by the night before", "dots", predicted),
        ],
        [*_days(nights), (float(len(nights)), "next")],
        aim=aim,
        levels=((trigger, "trigger"),),
        unit="off its fair share",
    )


def _moves(nights: Sequence[Past]) -> Columns | None:
    """First partitions are no moves."""
    if len(nights) < 2:
        return None
    return counts(
        "Moves from node to node, night by night",
        [(f"{night.settled:%d %b}", night.rows_moved) for night in nights],
    )


def _days(nights: Sequence[Past]) -> list[tuple[float, str]]:
    step = max(len(nights) // 6, 1)
    return [(float(at), f"{night.settled:%d %b}") for at, night in enumerate(nights)][::step]

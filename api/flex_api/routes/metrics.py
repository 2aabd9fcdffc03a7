"""Metrics for Prometheus, which shows a token of role viewer like any other caller."""

from __future__ import annotations

import numpy as np
from fastapi import APIRouter, Response

from flex_api import work_in_background
from flex_api.night import (
    ask_every_haproxy,
    deliver_haproxy_files,
    freezes,
    metrics_of_moves,
    orders_at_doors,
)
from flex_api.night.metrics_from_store import JOBS, NO_LOGS, log_figures
from flex_api.night.metrics_parts import Parts
from flex_api.night.prometheus_metrics import CONTENT_TYPE, Known, Series, text, watch_series
from flex_api.web import stray_views
from flex_api.web.cached_haproxy_state import distributors
from flex_api.web.request_context import Desk, Viewer
from flex_api.web.sight import published_dead_nodes

router = APIRouter(include_in_schema=False)


@router.get("/metrics")
def metrics(desk: Viewer) -> Response:
    catalogue = desk.views.catalogue()
    _, in_force = desk.views.base()
    world, headlines = desk.world(), desk.views.headlines()
    parts = Parts()
    last_lines, coverage = parts.make(
        "logs",
        lambda: desk.views.get_or_make(
            "logs", lambda: log_figures(desk.settings, desk.store, desk.now)
        ),
        NO_LOGS,
    )
    known = Known(
        now=desk.now,
        runs=desk.views.runs(),
        headlines=headlines,
        in_force=in_force,
        nodes=world.nodes,
        dead=published_dead_nodes(desk),
        pins=tuple(pin for pins in desk.views.wishes().values() for pin in pins),
        sites=len(catalogue.sites),
        replicated=int((np.diff(catalogue.first) > 1).sum()),
        frozen=freezes.freeze_in_force(world) is not None,
        latest=desk.views.plan(headlines[0].id) if headlines else None,
        last_lines=last_lines,
        coverage=coverage,
        jobs=[work_in_background.as_it_is(job) for job in desk.store.jobs(JOBS)],
        expiry=desk.settings.safety.plan_expiry,
        review=desk.settings.cluster.mode == "review",
    )
    none: list[Series] = []
    more = [
        *parts.make("routing", lambda: _routing_series(desk), none),
        *parts.make(
            "delivery", lambda: deliver_haproxy_files.series(desk.settings, desk.store), none
        ),
        *parts.make("moves", lambda: metrics_of_moves.series(desk.store, desk.now), none),
        *(watch_series(desk.house.watched()) if desk.house.watched else ()),
    ]
    body = text(known, [*more, *parts.series()]) + parts.comments()
    return Response(body + desk.house.timing.text(), media_type=CONTENT_TYPE)


def _routing_series(desk: Desk) -> list[Series]:
    return [
        *ask_every_haproxy.series(distributors(desk)),
        *ask_every_haproxy.series_of_doors(
            ask_every_haproxy.as_order(desk.settings, desk.store),
            orders_at_doors.door_states(desk.settings, desk.store),
        ),
        *ask_every_haproxy.series_of_strays(stray_views.visitors_at_doors(desk).doors),
    ]

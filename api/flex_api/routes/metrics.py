"""Metrics for Prometheus, which shows a token of role viewer like any other caller."""

from __future__ import annotations

import numpy as np
from fastapi import APIRouter, Response

from flex_api import work_in_background
from flex_api.night import (
    ask_every_haproxy,
    deliver_haproxy_files,
    freeze_and_change_windows,
    metrics_of_moves,
    which_order_doors_go_by,
)
from flex_api.night.metrics_despite_failed_parts import Parts
from flex_api.night.metrics_from_store import JOBS, NO_LOGS, of_logs
from flex_api.night.prometheus_metrics import CONTENT_TYPE, Known, Series, of_watch, text
from flex_api.web import strays_and_sites_outside_dns
from flex_api.web.cached_haproxy_state import distributors
from flex_api.web.request_context import Desk, Viewer
from flex_api.web.sight import in_dns_still

router = APIRouter(include_in_schema=False)


@router.get("/metrics")
def metrics(desk: Viewer) -> Response:
    found = desk.views.catalogue()
    _, in_force = desk.views.base()
    world, headlines = desk.world(), desk.views.headlines()
    parts = Parts()
    last_lines, coverage = parts.make(
        "logs",
        lambda: desk.views.of("logs", lambda: of_logs(desk.settings, desk.store, desk.now)),
        NO_LOGS,
    )
    known = Known(
        now=desk.now,
        runs=desk.views.runs(),
        headlines=headlines,
        in_force=in_force,
        nodes=world.nodes,
        dead=in_dns_still(desk),
        pins=tuple(pin for pins in desk.views.wishes().values() for pin in pins),
        sites=len(found.sites),
        replicated=int((np.diff(found.first) > 1).sum()),
        frozen=freeze_and_change_windows.freeze_in_force(world) is not None,
        latest=desk.views.plan(headlines[0].id) if headlines else None,
        last_lines=last_lines,
        coverage=coverage,
        jobs=[work_in_background.as_it_is(job) for job in desk.store.jobs(JOBS)],
        expiry=desk.settings.safety.plan_expiry,
        review=desk.settings.cluster.mode == "review",
    )
    none: list[Series] = []
    more = [
        *parts.make("routing", lambda: _of_routing(desk), none),
        *parts.make(
            "delivery", lambda: deliver_haproxy_files.series(desk.settings, desk.store), none
        ),
        *parts.make("moves", lambda: metrics_of_moves.series(desk.store, desk.now), none),
        *(of_watch(desk.house.watched()) if desk.house.watched else ()),
    ]
    said = text(known, [*more, *parts.series()]) + parts.comments()
    return Response(said + desk.house.timing.text(), media_type=CONTENT_TYPE)


def _of_routing(desk: Desk) -> list[Series]:
    return [
        *ask_every_haproxy.series(distributors(desk)),
        *ask_every_haproxy.series_of_doors(
            ask_every_haproxy.as_order(desk.settings, desk.store),
            which_order_doors_go_by.door_states(desk.settings, desk.store),
        ),
        *ask_every_haproxy.series_of_strays(strays_and_sites_outside_dns.at_doors(desk).doors),
    ]

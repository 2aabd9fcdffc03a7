"""Metrics for Prometheus, which shows a token of role viewer like everybody."""

from __future__ import annotations

import numpy as np
from fastapi import APIRouter, Response

from flex_api import freezing
from flex_api.metrics import CONTENT_TYPE, Known, text
from flex_api.web.desk import Viewer

router = APIRouter(include_in_schema=False)


@router.get("/metrics")
def metrics(desk: Viewer) -> Response:
    found = desk.views.catalogue()
    _, in_force = desk.views.base()
    world = desk.world()
    known = Known(
        now=desk.now,
        runs=desk.views.runs(),
        headlines=desk.views.headlines(),
        in_force=in_force,
        nodes=world.nodes,
        pins=tuple(pin for pins in desk.views.wishes().values() for pin in pins),
        sites=len(found.sites),
        replicated=int((np.diff(found.first) > 1).sum()),
        frozen=freezing.frozen(world) is not None,
        review=desk.settings.cluster.mode == "review",
    )
    return Response(text(known), media_type=CONTENT_TYPE)

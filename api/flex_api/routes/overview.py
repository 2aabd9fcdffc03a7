"""The first page: the report of the latest plan, made when it is asked for."""

from __future__ import annotations

from datetime import UTC, datetime

from fastapi import APIRouter
from fastapi.responses import HTMLResponse

from flex_api import report
from flex_api.gather import gather
from flex_api.routes.shared import TheSettings, TheStore

router = APIRouter(include_in_schema=False)


@router.get("/", response_class=HTMLResponse)
def overview(settings: TheSettings, store: TheStore) -> str:
    """The latest plan as a page; before the first one, what to do to get there."""
    latest = store.cycles(1)
    if not latest:
        return report.page("welcome.html", cluster=settings.cluster.name, nodes=len(settings.node))
    return report.html(gather(settings, store, latest[0], datetime.now(UTC)))

"""The first page: the report of the latest plan, made when it is asked for."""

from __future__ import annotations

from datetime import UTC, datetime

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response

from flex_api import report
from flex_api.gather import gather
from flex_api.web.desk import TheHouse

router = APIRouter(include_in_schema=False)


@router.get("/", response_class=HTMLResponse)
def overview(request: Request, house: TheHouse) -> Response:
    """The latest plan as a page; before the first one, what to do to get there. Who is unknown is asked for a token."""
    if request.state.caller is None:
        return RedirectResponse("/login", 303)
    settings, store = house.settings, house.store
    latest = store.cycles(1)
    if not latest:
        page = report.page("welcome.html", cluster=settings.cluster.name, nodes=len(settings.node))
        return HTMLResponse(page)
    return HTMLResponse(report.html(gather(settings, store, latest[0], datetime.now(UTC))))

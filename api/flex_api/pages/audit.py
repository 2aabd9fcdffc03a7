"""Audit: who changed what, when and why."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response
from fastapi.responses import HTMLResponse

from flex_api.pages.forms import asked, moment
from flex_api.pages.frame import show, told
from flex_api.pages.plans import following
from flex_api.routes import audit
from flex_api.routes.audit import AuditQuery
from flex_api.schemas.rest import AuditPage
from flex_api.web.desk import Viewer

router = APIRouter(include_in_schema=False)


@router.get("/audit", response_class=HTMLResponse)
def page(desk: Viewer, request: Request) -> Response:
    since = moment(request.query_params.get("since", ""), "since")
    query = asked(AuditQuery, request, "since").model_copy(update={"since": since})
    found = told(AuditPage, audit.audit(desk, query))
    return show(desk, "audit.html", "/audit", found=found, query=query, following=following(request, found.next))

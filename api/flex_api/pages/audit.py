"""Audit: who changed what, when and why, and whether the log is complete. That check runs in the
background.
"""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import APIRouter, Query, Request, Response
from fastapi.responses import HTMLResponse

from flex_api import verify_audit_log
from flex_api.pages.forms import from_query, moment
from flex_api.pages.frame import as_model, show
from flex_api.pages.plans import following
from flex_api.routes import audit
from flex_api.routes.audit import AuditQuery
from flex_api.schemas.rest_bodies import AuditPage
from flex_api.web.request_context import Viewer

router = APIRouter(include_in_schema=False)


# Seconds for which what was found holds for whoever asks again.
FRESH = 60.0


@router.get("/audit", response_class=HTMLResponse)
def page(
    desk: Viewer, request: Request, verify: Annotated[Literal["", "now"], Query()] = ""
) -> Response:
    """Raises NotWhole where somebody asks whether the record is whole and it is not."""
    store = desk.house.store
    since = moment(request.query_params.get("since", ""), "since")
    query = from_query(AuditQuery, request, "since", "verify").model_copy(update={"since": since})
    audit_page = as_model(AuditPage, audit.audit(desk, query))
    head = (
        desk.house.later.ask("audit", lambda: verify_audit_log.verify_record(store), lasting=FRESH)
        if verify
        else None
    )
    return show(
        desk,
        "audit.html",
        "/audit",
        found=audit_page,
        query=query,
        whole=head,
        pending=verify and head is None,
        following=following(request, audit_page.next),
    )

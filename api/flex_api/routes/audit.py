"""Who changed what. Entries are added and never changed. Each has the hash of the one before it."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import APIRouter, Query, Response

from flex.errors import NotWhole
from flex_api import verify_audit_log
from flex_api.schemas.request_and_list_base import CLEAN, TimedQuery
from flex_api.schemas.rest_bodies import AuditPage, AuditVerified
from flex_api.schemas.tokens_and_audit import audit_row
from flex_api.web.etag_responses import page_response, reply
from flex_api.web.paging import Order, decode, encode
from flex_api.web.request_context import Reader, Viewer

router = APIRouter(prefix="/api/v1/audit", tags=["audit"])


class AuditQuery(TimedQuery):
    sort: Literal["-number", "number", "-time", "time"] = "-number"
    actor: Annotated[str, Query(max_length=255, pattern=CLEAN)] = ""
    action: Annotated[
        str, Query(max_length=100, pattern=CLEAN, description="`pin` stands for `pin.put` too")
    ] = ""
    subject: Annotated[
        str, Query(max_length=1000, pattern=CLEAN, description="what was changed")
    ] = ""


@router.get("", response_model=AuditPage)
def audit(desk: Viewer, query: Annotated[AuditQuery, Query()]) -> Response:
    """Every change, the latest first. Entries are numbered as they were made, so that by time is by
    number.
    """
    order = Order.parse(query.sort)
    at = decode(query.cursor, order, (int, str))[0] if query.cursor else None
    entries = desk.store.found_entries(
        query.limit + 1,
        at,
        down=order.down,
        actor=query.actor,
        action=query.action,
        subject=query.subject,
        since=query.since,
        until=query.until,
    )
    rows = entries[: query.limit]
    following = encode(order, [rows[-1].number, ""]) if len(entries) > query.limit else None
    return page_response(desk.request, AuditPage(items=list(map(audit_row, rows)), next=following))


@router.get("/verification", response_model=AuditVerified)
def verification(
    desk: Reader,
    last: Annotated[
        str,
        Query(max_length=64, pattern=r"^[0-9a-f]*$", description="a hash that was noted before"),
    ] = "",
) -> Response:
    """Whether no entry was altered or taken out, and all is as they say. Reads all of it."""
    try:
        head, wrong = verify_audit_log.verify_record(desk.store, last), ""
    except NotWhole as error:
        head, wrong = desk.store.audit_head(), error.answer
    return reply(
        desk.request,
        AuditVerified(holds=not wrong, wrong=wrong, entries=head.number, last=head.hash),
    )

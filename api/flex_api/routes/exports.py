"""A plan as text for another tool, which then writes it to DNS."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query, Response

from flex_api.facts import plan_by_zone
from flex_api.routes.plans import the_plan
from flex_api.schemas.request_and_list_base import CLEAN
from flex_api.web.etag_responses import text_response
from flex_api.web.request_context import Reader
from flex_dns.exports import EXPORTS

router = APIRouter(prefix="/api/v1/plans", tags=["plans"])

TEXT = "text/plain"
# Any: plain JSON of the API's description.
AS_TEXT: dict[int | str, dict[str, Any]] = {
    200: {"content": {TEXT: {"schema": {"type": "string"}}}}
}


@router.get("/{plan}/export", response_class=Response, responses=AS_TEXT)
def export(
    desk: Reader,
    plan: str,
    form: Annotated[str, Query(alias="format", json_schema_extra={"enum": list(EXPORTS)})],
    zone: Annotated[
        str,
        Query(
            max_length=4000,
            pattern=CLEAN,
            description="these zones of the plan, with commas between them; all, if empty",
        ),
    ] = "",
) -> Response:
    """The records of a plan for another tool. nsupdate gets its changes, with what they require."""
    plan_by_zone.refuse_unknown(form)
    only = [name for name in zone.split(",") if name]
    exports = plan_by_zone.zones_for(desk.world(), the_plan(desk, plan), form, only)
    text = plan_by_zone.together(form, exports)
    return text_response(desk.request, text, TEXT)

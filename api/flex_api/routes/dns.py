"""What the name servers say, compared with the partition in force."""

from __future__ import annotations

from fastapi import APIRouter, Response

from flex_api import present, verifying
from flex_api.rest_schemas import DriftShown
from flex_api.web.answers import reply
from flex_api.web.desk import Viewer

router = APIRouter(prefix="/api/v1/dns", tags=["dns"])


@router.get("/drift", response_model=DriftShown)
def drift(desk: Viewer) -> Response:
    """Ask every name server for every name of the partition in force; what differs is named, server by server."""
    found = present.verify_output(verifying.verify(desk.world()))
    shown = DriftShown(partition=found.partition, drift=found.drift, not_checked=found.not_checked, items=found.servers)
    return reply(desk.request, shown)

"""How far the logs can be trusted, which files are asked for, and which names are no sites."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import APIRouter, Query, Response

from flex_api.data_and_unknown_names import data_output, unknown_output
from flex_api.requests_by_file import files_output
from flex_api.schemas.log_verbs_output import DataOutput
from flex_api.schemas.request_and_list_base import CLEAN
from flex_api.schemas.verbs_output import FilesOutput, UnknownOutput
from flex_api.web.etag_responses import reply
from flex_api.web.request_context import Reader

router = APIRouter(prefix="/api/v1", tags=["data"])


@router.get("/data", response_model=DataOutput)
def data(desk: Reader) -> Response:
    """How far the logs can be trusted: for each source and node what is missing, malformed, late or
    misdated.
    """
    return reply(desk.request, data_output(desk.world()))


@router.get("/files", response_model=FilesOutput)
def files(
    desk: Reader,
    site: Annotated[
        str, Query(max_length=255, pattern=CLEAN, description="all sites together, if empty")
    ] = "",
    sort: Annotated[
        Literal["requests", "bytes", "size", "last"], Query(description="largest first")
    ] = "requests",
    most: Annotated[int, Query(ge=1, le=1_000_000)] = 20,
    match: Annotated[
        str, Query(max_length=1000, pattern=CLEAN, description="paths like `/img/*.jpg`")
    ] = "",
    days: Annotated[
        int, Query(ge=0, le=366, description="the last days; 0: the period of the profiles")
    ] = 0,
) -> Response:
    """The files of a site that are asked for most, and how few of them make nearly all of its
    traffic.
    """
    output = files_output(desk.world(), site, days=days, order=sort, limit=most, match=match)
    return reply(desk.request, output)


@router.get("/unknown-names", response_model=UnknownOutput)
def unknown_names(desk: Reader, most: Annotated[int, Query(ge=1, le=1000)] = 20) -> Response:
    """What visitors asked of names that are no known sites, since the profiles begin."""
    return reply(desk.request, unknown_output(desk.world(), most))

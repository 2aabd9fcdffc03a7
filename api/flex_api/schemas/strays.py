"""Visitors who come to nodes that do not have the site: as lists tell it, and as a node reports
it.
"""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from pydantic import Field

from flex.model.stray_requests import MOST_READ, Counted, DoorRead, StrayReading, Visitors
from flex_api.schemas.output_base import Part
from flex_api.schemas.request_and_list_base import Given

# Larger than any count, and still a whole number for every program that reads JSON. A database
# adds up some thousands of them.
MOST_REQUESTS = 10**15
# A century in seconds: no HAProxy runs longer.
_LONGEST = 3_200_000_000


class StrayRow(Part):
    """The requests for the site, by all its names, that came to a node that does not have it since
    `since`. `last` is when the last one did.
    """

    site: str
    node: str
    requests: int
    since: datetime
    last: datetime


class DoorReadRow(Part):
    """What a node's door had counted when it was read last: names that other nodes answer for, and
    requests for these. The most frequent names are `kept`.
    """

    node: str
    read: datetime
    names: int
    requests: int
    kept: int


class CountedGiven(Given):
    name: Annotated[str, Field(min_length=1, max_length=253, pattern=r"^[a-z0-9.-]+$")]
    requests: Annotated[int, Field(ge=1, le=MOST_REQUESTS)]
    quiet: Annotated[
        float,
        Field(ge=0, le=_LONGEST, allow_inf_nan=False, description="seconds since the last of them"),
    ]


class StraysGiven(Given):
    """What the door of a node has counted since its HAProxy started `uptime` seconds ago: of all
    names, and the most frequent ones.
    """

    uptime: Annotated[int, Field(ge=0, le=_LONGEST)]
    names: Annotated[int, Field(ge=0, le=MOST_REQUESTS)]
    requests: Annotated[int, Field(ge=0, le=MOST_REQUESTS)]
    counted: Annotated[list[CountedGiven], Field(max_length=MOST_READ)]


def reading_of(given: StraysGiven) -> StrayReading:
    counted = {
        host_count.name: Counted(host_count.name, host_count.requests, host_count.quiet)
        for host_count in given.counted
    }
    return StrayReading(given.uptime, given.names, given.requests, tuple(counted.values()))


def stray_row(visitors: Visitors) -> StrayRow:
    return StrayRow.like(visitors)


def door_row(door: DoorRead) -> DoorReadRow:
    return DoorReadRow.like(door)

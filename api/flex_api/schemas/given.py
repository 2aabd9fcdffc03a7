"""What everything has in common that comes in over the REST API, and every list that goes out.

Moments are in UTC. A field that a body does not know is an error.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated

from pydantic import AfterValidator, AwareDatetime, BaseModel, ConfigDict, Field

from flex_api.schemas.output import Part

# Long before the first access log and long after the last: between these, no sum of days leaves
# the calendar.
EARLIEST = datetime(1980, 1, 1, tzinfo=UTC)
LATEST = datetime(2200, 1, 1, tzinfo=UTC)


def _moment_in_range(moment: datetime) -> datetime:
    if not EARLIEST <= moment < LATEST:
        raise ValueError(f"it is not between {EARLIEST:%Y-%m-%d} and {LATEST:%Y-%m-%d}")
    return moment.astimezone(UTC)


# Text that databases keep and terminals show: no control characters.
CLEAN = r"^[^\x00-\x1f\x7f]*$"
Moment = Annotated[AwareDatetime, AfterValidator(_moment_in_range)]
Text = Annotated[str, Field(max_length=1000, pattern=CLEAN)]
Name = Annotated[
    str, Field(min_length=1, max_length=255, pattern=r"^[^\s\x00-\x1f\x7f,/]+$")
]
Names = Annotated[tuple[Name, ...], Field(max_length=1000)]


class Given(BaseModel):
    """What comes in: nothing that is not known, nothing of another type."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class ListQuery(Given):
    limit: Annotated[int, Field(ge=1, le=1000, description="rows of a page")] = 50
    cursor: Annotated[
        str | None, Field(max_length=4000, description="`next` of the page before")
    ] = None


class TimedQuery(ListQuery):
    """Of rows that have a time: which one the description of the list says."""

    since: Annotated[Moment | None, Field(description="from then on")] = None
    until: Annotated[Moment | None, Field(description="before then")] = None

    def holds(self, moment: datetime | None) -> bool:
        """What has no time is in no span of it."""
        if moment is None:
            return self.since is None and self.until is None
        return (self.since is None or moment >= self.since) and (
            self.until is None or moment < self.until
        )


class PageOf(Part):
    next: str | None = Field(
        description="the cursor of the next page; none on the last"
    )

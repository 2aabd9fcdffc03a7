"""What the bodies and queries of the REST API have in common, and the pages of its lists.

Holds the kinds of fields that somebody gives, such as a moment, a name or a text, with their
bounds. Moments are in UTC. A field that a body does not know is an error. Does not hold the models
of resources.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Annotated, get_args

from pydantic import (
    AfterValidator,
    AwareDatetime,
    BaseModel,
    ConfigDict,
    Field,
    ValidationInfo,
    field_validator,
)

from flex_api.schemas.output_base import Part

# Moments that somebody gives lie between these, here and on the command line. Both are guesses: the
# first is long before the first access log, the second long after the last, and sums of days stay
# within Python's calendar.
EARLIEST = datetime(1980, 1, 1, tzinfo=UTC)
LATEST = datetime(2200, 1, 1, tzinfo=UTC)


def _moment_in_range(moment: datetime) -> datetime:
    if not EARLIEST <= moment < LATEST:
        raise ValueError(f"it is not between {EARLIEST:%Y-%m-%d} and {LATEST:%Y-%m-%d}")
    return moment.astimezone(UTC)


# Text that databases keep and terminals show: no control characters.
CLEAN = r"^[^\x00-\x1f\x7f]*$"
# Characters that a text may have. A guess.
LONGEST_TEXT = 1000
Moment = Annotated[AwareDatetime, AfterValidator(_moment_in_range)]
Text = Annotated[str, Field(max_length=LONGEST_TEXT, pattern=CLEAN)]
Name = Annotated[str, Field(min_length=1, max_length=255, pattern=r"^[^\s\x00-\x1f\x7f,/]+$")]
Names = Annotated[tuple[Name, ...], Field(max_length=1000)]


class Given(BaseModel):
    """What comes in: nothing that is not known, nothing of another type."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    @field_validator("*", mode="before")
    @classmethod
    def _true_is_no_number(cls, value: object, info: ValidationInfo) -> object:
        """In JSON true is no number, and a number is not true; pydantic takes either for the other.
        Queries and forms are text, which it reads as what the field is.
        """
        kind = cls.model_fields[info.field_name or ""].annotation
        if kind is bool:
            if type(value) in (int, float):
                raise ValueError("it is true or false, no number")
        elif bool not in get_args(kind):
            inside = value.values() if isinstance(value, dict) else value
            if any(each is True or each is False for each in _each_of(inside)):
                raise ValueError("it is neither true nor false")
        return value


def _each_of(value: object) -> Iterable[object]:
    return value if isinstance(value, Iterable) and not isinstance(value, str) else (value,)


class ListQuery(Given):
    limit: Annotated[int, Field(ge=1, le=1000, description="rows of a page")] = 50
    cursor: Annotated[
        str | None, Field(max_length=4000, description="`next` of the page before")
    ] = None


class TimedQuery(ListQuery):
    """For rows that have a time: which one the description of the list says."""

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
    next: str | None = Field(description="the cursor of the next page; none on the last")

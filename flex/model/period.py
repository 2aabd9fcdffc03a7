"""A period: the whole days whose logs a profile was computed from."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta


@dataclass(frozen=True, slots=True)
class Period:
    """Half-open and in whole UTC days: an access belongs to the day its timestamp falls in."""

    start: datetime
    end: datetime

    @classmethod
    def days_before(cls, now: datetime, days: int) -> Period:
        """The last `days` complete days before `now`."""
        end = now.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
        return cls(end - timedelta(days=days), end)

    @property
    def seconds(self) -> float:
        return (self.end - self.start).total_seconds()

    @property
    def first_day(self) -> int:
        """Days since 1970-01-01, as the partials count them."""
        return int(self.start.timestamp() // 86400)

    @property
    def last_day(self) -> int:
        return int((self.end.timestamp() - 1) // 86400)

    def __str__(self) -> str:
        """As people say it: the last day is inside."""
        first = f"{self.start:%Y-%m-%d}"
        last = f"{self.end - timedelta(days=1):%Y-%m-%d}"
        return first if first == last else f"{first} to {last}"


# Later than any day of a log: years have four digits.
LAST_DAY = 3_000_000

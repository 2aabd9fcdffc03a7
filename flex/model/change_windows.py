"""Hours of the week in which FLEX may make changes by itself: how people write them, and whether a
moment is in one.

Takes texts such as "Mon-Fri 01:00-05:00", and a moment in the operator's time zone. Returns
windows, and whether the moment is in one of them. A window that ends before it begins goes on after
midnight. Does not refuse a change.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, time

DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
WRITTEN = re.compile(
    r"(?:(?P<first>[A-Z][a-z]{2})(?:-(?P<last>[A-Z][a-z]{2}))?\s+)?"
    r"(?P<begin>[\d:]+)-(?P<end>[\d:]+)"
)


@dataclass(frozen=True, slots=True)
class Window:
    """`days` are those on which it begins, Monday first."""

    days: frozenset[int]
    begin: time
    end: time

    def holds(self, moment: datetime) -> bool:
        now, day = moment.time(), moment.weekday()
        if self.begin < self.end:
            return day in self.days and self.begin <= now < self.end
        return (day in self.days and now >= self.begin) or (
            (day - 1) % 7 in self.days and now < self.end
        )


def window(text: str) -> Window:
    """Raises ValueError for a text that is not a window."""
    match = WRITTEN.fullmatch(text.strip())
    if not match:
        raise ValueError(
            f"{text!r} is no window; wanted 'Mon-Fri 01:00-05:00', or '01:00-05:00' for every day"
        )
    return Window(_days(match["first"], match["last"]), _time(match["begin"]), _time(match["end"]))


def may_change_at(windows: Sequence[Window], moment: datetime) -> bool:
    """True also where there are no windows: then FLEX may make changes at any time."""
    return not windows or any(change_window.holds(moment) for change_window in windows)


def _days(first: str | None, last: str | None) -> frozenset[int]:
    if first is None:
        return frozenset(range(7))
    begin, end = _day(first), _day(last or first)
    return frozenset((begin + n) % 7 for n in range((end - begin) % 7 + 1))


def _day(name: str) -> int:
    if name not in DAYS:
        raise ValueError(f"{name!r} is no day; they are {', '.join(DAYS)}")
    return DAYS.index(name)


def _time(text: str) -> time:
    """24:00 is the midnight that a day ends with."""
    try:
        return time.fromisoformat("00:00" if text == "24:00" else text)
    except ValueError:
        raise ValueError(f"{text!r} is no time of day; wanted 01:00") from None

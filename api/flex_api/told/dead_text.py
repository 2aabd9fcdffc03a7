"""Dead nodes that are still in DNS, in a sentence each."""

from __future__ import annotations

from flex_api.schemas.night import DeadRow
from flex_api.told import words


def sentence(row: DeadRow) -> str:
    are = "is" if row.sites == 1 else "are"
    said = f"{row.node} is down, and {words.count(row.sites, 'site')} {are} on it still in DNS"
    if row.last_attempt is None or row.next_attempt is None:
        return said
    times = f"tried {words.count(row.attempts, 'time')}, last at {words.when(row.last_attempt)}"
    return f"{said}; {times}, and again from {words.when(row.next_attempt)} on: {row.error}"

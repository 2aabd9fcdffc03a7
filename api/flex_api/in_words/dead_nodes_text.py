"""Dead nodes that are still in DNS, in a sentence each."""

from __future__ import annotations

from flex_api.in_words import amounts
from flex_api.schemas.nodes_and_jobs import DeadRow


def sentence(row: DeadRow) -> str:
    are = "is" if row.sites == 1 else "are"
    headline = (
        f"{row.node} is down, and {amounts.count(row.sites, 'site')} {are} on it still in DNS"
    )
    held = f"it is not tried again while {row.held_back}" if row.held_back else ""
    if row.last_attempt is None:
        return f"{headline}; {held}".removesuffix("; ")
    times = f"tried {amounts.count(row.attempts, 'time')}, last at {amounts.when(row.last_attempt)}"
    if held:
        return f"{headline}; {times}: {row.error}; {held}"
    # Nobody here knows whether a server runs.
    assert row.next_attempt, "nothing holds it back"
    again = f"`flex serve` tries again from {amounts.when(row.next_attempt)} on, or the next night"
    return f"{headline}; {times}; {again}: {row.error}"

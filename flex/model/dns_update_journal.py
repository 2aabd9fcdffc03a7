"""A line of the journal of updates: what goes to a name server together, written down before it is
sent.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

RowState = Literal["planned", "sent", "done", "conflict", "refused"]


@dataclass(frozen=True, slots=True)
class JournalRow:
    """Changes of one zone that go to its name server together, and how far they are.

    `changes` are their places in the zone's plan. Planned and sent ones are to be looked after;
    done, conflict and refused ones have ended, the latter two with the reason as their note.
    """

    number: int
    zone: str
    changes: tuple[int, ...]
    state: RowState = "planned"
    note: str = ""


class Journal(Protocol):
    """What one application of a plan does to each zone, message by message, so that it can be gone
    on with.
    """

    def rows(self) -> tuple[JournalRow, ...]:
        """In order of their numbers; none before it began."""
        ...

    def intend(self, rows: Sequence[JournalRow]) -> None:
        """Write all of them down before the first is sent."""
        ...

    def became(self, numbers: Sequence[int], state: RowState, note: str = "") -> None: ...

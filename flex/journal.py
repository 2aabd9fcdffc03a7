"""A line of the journal of updates: what goes to a name server together, written down before it is sent."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

RowState = Literal["planned", "sent", "done", "conflict", "refused"]


@dataclass(frozen=True, slots=True)
class JournalRow:
    """Changes of one zone that go to its name server together, and how far they are.

    `changes` are their places in the zone's plan. Planned and sent ones are to be looked after; done, conflict and
    refused ones have ended, the latter two with the reason as their note.
    """

    number: int
    zone: str
    changes: tuple[int, ...]
    state: RowState = "planned"
    note: str = ""

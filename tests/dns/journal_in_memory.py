"""A journal of a plan that no store knows: for tests of what writes to it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from flex.model.dns_update_journal import JournalRow, RowState


class MemoryJournal:
    """Implements flex.ports.Journal."""

    def __init__(self) -> None:
        self._rows: dict[int, JournalRow] = {}

    def rows(self) -> tuple[JournalRow, ...]:
        return tuple(self._rows[number] for number in sorted(self._rows))

    def intend(self, rows: Sequence[JournalRow]) -> None:
        self._rows |= {row.number: row for row in rows}

    def became(self, numbers: Sequence[int], state: RowState, note: str = "") -> None:
        for number in numbers:
            self._rows[number] = replace(self._rows[number], state=state, note=note)

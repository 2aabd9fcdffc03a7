"""The journal of updates: in the database, and its double in memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import fields, replace

from sqlalchemy import bindparam, delete, insert, select, update

from flex.model.dns_update_journal import JournalRow, RowState
from flex.store.database_by_url import Database, StorePart
from flex.store.schema import messages


class SqlJournals(StorePart):
    def journal(self, plan_id: str) -> SqlJournal:
        return SqlJournal(self._database, plan_id)

    def new_journal(self, plan_id: str) -> SqlJournal:
        with self._database.writing() as connection:
            connection.execute(delete(messages).where(messages.c.cycle == plan_id))
        return SqlJournal(self._database, plan_id)


class SqlJournal:
    """Implements flex.ports.Journal. What it was told is on disk when it returns."""

    def __init__(self, database: Database, plan_id: str) -> None:
        self._database = database
        self._plan = plan_id

    def rows(self) -> tuple[JournalRow, ...]:
        columns = [column for column in messages.c if column.name != "cycle"]
        wanted = select(*columns).where(messages.c.cycle == self._plan).order_by(messages.c.number)
        with self._database.reading() as connection:
            rows = connection.execute(wanted).mappings()
            return tuple(JournalRow(**{**row, "changes": tuple(row["changes"])}) for row in rows)

    def intend(self, rows: Sequence[JournalRow]) -> None:
        if not rows:
            return
        with self._database.writing() as connection:
            connection.execute(
                insert(messages), [{"cycle": self._plan, **_columns(row)} for row in rows]
            )

    def became(self, numbers: Sequence[int], state: RowState, note: str = "") -> None:
        if not numbers:
            return
        these = (messages.c.cycle == self._plan) & (messages.c.number == bindparam("those"))
        change = update(messages).where(these).values(state=state, note=note)
        with self._database.writing() as connection:
            connection.execute(change, [{"those": number} for number in numbers])


def _columns(row: JournalRow) -> dict[str, object]:
    """As it is: `asdict` would copy thousands of numbers one by one."""
    return {field.name: getattr(row, field.name) for field in fields(row)}


def _written_by_anybody() -> None:
    """Nobody asks who writes."""


class MemoryJournal:
    """`refuse_lost` raises LostLease where who writes lost the lease."""

    def __init__(self, refuse_lost: Callable[[], None] = _written_by_anybody) -> None:
        self._refuse_lost = refuse_lost
        self._rows: dict[int, JournalRow] = {}

    def rows(self) -> tuple[JournalRow, ...]:
        return tuple(self._rows[number] for number in sorted(self._rows))

    def intend(self, rows: Sequence[JournalRow]) -> None:
        self._refuse_lost()
        self._rows |= {row.number: row for row in rows}

    def became(self, numbers: Sequence[int], state: RowState, note: str = "") -> None:
        self._refuse_lost()
        for number in numbers:
            self._rows[number] = replace(self._rows[number], state=state, note=note)

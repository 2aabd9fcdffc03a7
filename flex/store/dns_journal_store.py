"""The journal of updates in the database."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import bindparam, delete, insert, update

from flex.model.dns_update_journal import JournalRow, RowState
from flex.store.database_by_url import Database, StorePart
from flex.store.keyed_table import KeyedTable
from flex.store.schema import messages

# Of one plan they are told apart by their numbers.
ROWS = KeyedTable(messages, JournalRow, "number")


class SqlJournals(StorePart):
    def journal(self, plan_id: str) -> SqlJournal:
        """The updates that were sent for the plan, and their results."""
        return SqlJournal(self._database, plan_id)

    def new_journal(self, plan_id: str) -> SqlJournal:
        """An empty journal for a new attempt; earlier ones are deleted."""
        with self._database.writing() as connection:
            connection.execute(delete(messages).where(messages.c.cycle == plan_id))
        return SqlJournal(self._database, plan_id)


class SqlJournal:
    """Implements flex.ports.Journal. What it was told is on disk when it returns."""

    def __init__(self, database: Database, plan_id: str) -> None:
        self._database = database
        self._plan = plan_id

    def rows(self) -> tuple[JournalRow, ...]:
        return ROWS.all(self._database, messages.c.cycle == self._plan)

    def intend(self, rows: Sequence[JournalRow]) -> None:
        if not rows:
            return
        with self._database.writing() as connection:
            connection.execute(
                insert(messages), [{"cycle": self._plan, **ROWS.row(row)} for row in rows]
            )

    def became(self, numbers: Sequence[int], state: RowState, note: str = "") -> None:
        if not numbers:
            return
        these = (messages.c.cycle == self._plan) & (messages.c.number == bindparam("those"))
        change = update(messages).where(these).values(state=state, note=note)
        with self._database.writing() as connection:
            connection.execute(change, [{"those": number} for number in numbers])

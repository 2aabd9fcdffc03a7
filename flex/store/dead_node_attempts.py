"""Attempts to take dead nodes out of DNS, in the database."""

from __future__ import annotations

from dataclasses import asdict

from sqlalchemy import Column, Integer, Table, delete, insert, select

from flex.model.when_to_retry_failover_or_delivery import Attempt
from flex.store.database import StorePart
from flex.store.schema import TEXT, Utc, metadata

# A row for each node that is still to be taken out.
attempts = Table(
    "attempts",
    metadata,
    Column("node", TEXT, primary_key=True),
    Column("count", Integer, nullable=False),
    Column("since", Utc, nullable=False),
    Column("last", Utc, nullable=False),
    Column("error", TEXT, nullable=False),
)


class SqlAttempts(StorePart):
    def attempts(self) -> tuple[Attempt, ...]:
        with self._database.reading() as connection:
            found = connection.execute(select(attempts).order_by(attempts.c.node)).mappings()
            return tuple(Attempt(**row) for row in found)

    def put_attempt(self, attempt: Attempt) -> None:
        with self._database.writing() as connection:
            connection.execute(delete(attempts).where(attempts.c.node == attempt.node))
            connection.execute(insert(attempts), asdict(attempt))

    def drop_attempt(self, node: str) -> None:
        with self._database.writing() as connection:
            connection.execute(delete(attempts).where(attempts.c.node == node))

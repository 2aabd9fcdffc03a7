"""What somebody can do who owns the database: write to it past FLEX, and past the triggers of the
audit log.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy import Connection, text

from flex.store.database_by_url import Database


@contextmanager
def unguarded(database: Database) -> Iterator[Connection]:
    """Writing without triggers; they are there again afterwards."""
    with database.writing() as connection:
        if database.url.get_backend_name() == "postgresql":
            connection.execute(text("SET LOCAL session_replication_role = replica"))
            yield connection
            return
        rows = connection.execute(
            text("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'")
        ).all()
        for row in rows:
            connection.execute(text(f"DROP TRIGGER {row.name}"))
        yield connection
        for row in rows:
            connection.execute(text(row.sql))

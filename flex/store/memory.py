"""A store in memory: for trials, simulations and tests.

It has the tables of the database, in SQLite, and is forgotten with the last that uses it. Does not
write files.
"""

from __future__ import annotations

import secrets
import sqlite3
import weakref
from contextlib import closing
from functools import cache
from typing import Self, cast

from sqlalchemy import insert, update

from flex.model.audit_chain import FIRST
from flex.store import schema
from flex.store.database_by_url import Database
from flex.store.sql_store import Store


class MemoryStore(Store):
    """Safe to share between threads, which take turns."""

    def __init__(self) -> None:
        database = Database("sqlite://")
        weakref.finalize(database, database.engine.dispose)
        super().__init__(database)
        self._begin_with(_empty())

    def begin_with_all_of(self, other: Self) -> None:
        """Hold what the other one holds now, and nothing else; but for its name."""
        self._begin_with(other._database)

    def _begin_with(self, source: Database) -> None:
        _copy(source, self._database)
        with self._database.writing() as connection:
            connection.execute(update(schema.installation).values(name=secrets.token_hex(8)))


@cache
def _empty() -> Database:
    """To copy the tables takes a sixtieth of the time to make them."""
    database = Database("sqlite://")
    with database.writing() as connection:
        schema.metadata.create_all(connection)
        connection.execute(insert(schema.in_force), {"id": 1})
        connection.execute(insert(schema.lease), {"id": 1, "waiting": False})
        connection.execute(insert(schema.installation), {"id": 1, "name": ""})
        head = {"id": 1, "number": FIRST.number, "hash": FIRST.hash}
        connection.execute(insert(schema.audit_head), head)
    return database


def _copy(source: Database, target: Database) -> None:
    with (
        closing(source.engine.raw_connection()) as old,
        closing(target.engine.raw_connection()) as new,
    ):
        cast(sqlite3.Connection, old.driver_connection).backup(
            cast(sqlite3.Connection, new.driver_connection)
        )

"""A table of which each row is a value of one class: a column is a field, by the same name. Fields
without a column are not stored.

Takes a table and a class. Reads, puts and drops values, each in a transaction of its own or in the
one that is open. Does not know what the values mean.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import fields
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from sqlalchemy import Column, ColumnElement, RowMapping, Table, delete, insert, select

from flex.store import frames_to_tables
from flex.store.database_by_url import Database

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

Value = TypeVar("Value", bound="DataclassInstance")


class KeyedTable(Generic[Value]):
    """`key` is what values are told apart by, and in what order they are read; else the table's
    primary key.
    """

    def __init__(self, table: Table, kind: type[Value], *key: str) -> None:
        self._table, self._kind = table, kind
        # Any: a field may hold anything.
        self._columns: list[Column[Any]] = [
            table.c[field.name] for field in fields(kind) if field.name in table.c
        ]
        self._key: list[Column[Any]] = [table.c[name] for name in key] or [*table.primary_key]

    def all(
        self,
        database: Database,
        *where: ColumnElement[bool],
        order: Sequence[ColumnElement[Any]] = (),
        limit: int | None = None,
    ) -> tuple[Value, ...]:
        query = select(*self._columns).where(*where).order_by(*(order or self._key)).limit(limit)
        with database.reading() as connection:
            return tuple(map(self._value, connection.execute(query).mappings()))

    def among(
        self, database: Database, column: Column[Any], values: Collection[Any]
    ) -> list[Value]:
        """Those of which the column has one of these values, however many; in no order."""
        query, kept = select(*self._columns), list[Value]()
        with database.reading() as connection:
            for few in frames_to_tables.parts(sorted(values)):
                rows = connection.execute(query.where(column.in_(few))).mappings()
                kept += map(self._value, rows)
        return kept

    def get(self, database: Database, *key: object) -> Value | None:
        return next(iter(self.all(database, *self._same(key))), None)

    def put(self, database: Database, value: Value) -> None:
        """In place of the one with the same key."""
        row = self.row(value)
        same = self._same([row[column.name] for column in self._key])
        with database.writing() as connection:
            connection.execute(delete(self._table).where(*same))
            connection.execute(insert(self._table), row)

    def drop(self, database: Database, *key: object) -> bool:
        """Whether it was there."""
        with database.writing() as connection:
            return connection.execute(delete(self._table).where(*self._same(key))).rowcount > 0

    def row(self, value: Value) -> dict[str, Any]:
        """As it is: `asdict` would copy thousands of numbers one by one."""
        return {column.name: getattr(value, column.name) for column in self._columns}

    def _value(self, row: RowMapping) -> Value:
        """JSON has lists for tuples."""
        values = {name: tuple(one) if isinstance(one, list) else one for name, one in row.items()}
        return self._kind(**values)

    def _same(self, key: Sequence[object]) -> list[ColumnElement[bool]]:
        return [column == value for column, value in zip(self._key, key, strict=True)]

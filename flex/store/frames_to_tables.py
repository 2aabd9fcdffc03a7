"""Writes frames to tables of the database and reads them back: rows by the million, in chunks, in
the order of the frame.

Takes a connection, a table and a frame. Returns the same frame when it is read. A table that holds
frames has a first column that says which frame, then the position of the row in the frame, then the
columns of the frame. Does not check what the values mean.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, repeat
from typing import Any, Literal, TypeVar

import pandas as pd
from sqlalchemy import Connection, Dialect, Select, Table, delete, insert, select
from sqlalchemy.engine.default import DefaultDialect

from flex.frame_schemas import Schema, values_of

# Rows sent to the database at a time: enough to be quick, few enough to stay small in memory.
CHUNK = 10_000
# How a driver is told where a value goes.
PLACES: Mapping[str, Literal["qmark", "format"]] = {"sqlite": "qmark", "postgresql": "format"}
# Values that one question may name: databases take only so many.
NAMED = 500

Value = TypeVar("Value")


def parts(values: Sequence[Value], named: int = 1) -> Iterator[Sequence[Value]]:
    """As many at a time as one question may name, which names so much of each."""
    size = NAMED // named
    return (values[first : first + size] for first in range(0, len(values), size))


def store(connection: Connection, table: Table, owner: str | int, frame: pd.DataFrame) -> None:
    """Replaces what the owner had."""
    connection.execute(delete(table).where(table.c[0] == owner))
    names = table.c.keys()
    for first in range(0, len(frame), CHUNK):
        chunk = frame.iloc[first : first + CHUNK]
        columns = [values_of(chunk[name]) for name in names[2:]]
        rows = zip(
            repeat(owner, len(chunk)), range(first, first + len(chunk)), *columns, strict=True
        )
        connection.exec_driver_sql(_insertion(table, connection.dialect), list(rows))


def _insertion(table: Table, dialect: Dialect) -> str:
    """As the driver wants it, values by their place: to name those of every row takes longer than
    to write them.
    """
    assert isinstance(dialect, DefaultDialect), "as all of SQLAlchemy's are"
    by_place = type(dialect)(paramstyle=PLACES[dialect.name])
    return str(insert(table).compile(dialect=by_place))


def load(connection: Connection, table: Table, owner: str | int, schema: Schema) -> pd.DataFrame:
    """The owner's frame; empty when there is none."""
    names = list(schema.columns)
    wanted = (
        select(*(table.c[name] for name in names))
        .where(table.c[0] == owner)
        .order_by(table.c.position)
    )
    values = columns(connection, wanted, len(names))
    if not values[0]:
        return schema.empty()
    return schema.from_columns(dict(zip(names, values, strict=True)))


def columns(connection: Connection, wanted: Select[Any], count: int) -> list[list[Any]]:
    """What is asked for, by column. Any: numbers and texts, as the driver has them.

    From the driver's own rows, each forgotten at once: an object for each, and a list of all, cost
    much more.
    """
    # Every driver has it.
    rows: Iterable[Sequence[Any]] = connection.execute(wanted).cursor  # type: ignore[assignment]
    flat = list(chain.from_iterable(rows))
    return [flat[at::count] for at in range(count)]

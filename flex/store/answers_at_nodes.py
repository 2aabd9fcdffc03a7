"""What nodes answered for sites that are watched, in the database.

Takes and returns plain values. Does not judge.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from sqlalchemy import Column, Connection, RowMapping, Table, delete, insert, select
from sqlalchemy.types import BigInteger

from flex.model.node_answer_counts import Answers, AnswersOfSpan, fuller
from flex.store import frames_to_tables
from flex.store.database_by_url import StorePart
from flex.store.schema import TEXT, metadata

answers_of_sites = Table(
    "answers_of_sites",
    metadata,
    Column("node", TEXT, primary_key=True),
    Column("name", TEXT, primary_key=True, index=True),
    Column("span", BigInteger, primary_key=True, index=True),
    Column("requests", BigInteger, nullable=False),
    Column("errors", BigInteger, nullable=False),
    Column("times", TEXT, nullable=False),
)


class SqlAnswersOfSites(StorePart):
    """Doors count; nobody decides: not in the audit log."""

    def put_answers(self, counted: Sequence[AnswersOfSpan]) -> None:
        """Each in place of the one of the same node, name and span, unless that has more."""
        with self._database.writing() as connection:
            for count in counted:
                same = _same(count)
                row = connection.execute(select(answers_of_sites).where(same))
                known = row.mappings().one_or_none()
                kept = fuller(count, _value(known) if known else None)
                connection.execute(delete(answers_of_sites).where(same))
                connection.execute(insert(answers_of_sites), _row(kept))

    def answers_of(self, names: Collection[str]) -> tuple[AnswersOfSpan, ...]:
        """In order of nodes, names and spans."""
        answers: list[AnswersOfSpan] = []
        with self._database.reading() as connection:
            for few in frames_to_tables.parts(sorted(names)):
                answers += _read_answers(connection, few)
        return tuple(sorted(answers, key=_answers_key))

    def forget_answers(self, before: int) -> None:
        """Those of earlier spans."""
        with self._database.writing() as connection:
            old = answers_of_sites.c.span < before
            connection.execute(delete(answers_of_sites).where(old))


def _read_answers(connection: Connection, names: Sequence[str]) -> list[AnswersOfSpan]:
    query = select(answers_of_sites).where(answers_of_sites.c.name.in_(names))
    return [_value(row) for row in connection.execute(query).mappings()]


def _same(count: AnswersOfSpan) -> Any:
    """Any: what SQLAlchemy makes of conditions has no narrower type that fits all."""
    table = answers_of_sites.c
    return (table.node == count.node) & (table.name == count.name) & (table.span == count.span)


def _row(count: AnswersOfSpan) -> dict[str, object]:
    return {
        "node": count.node,
        "name": count.name,
        "span": count.span,
        "requests": count.answers.requests,
        "errors": count.answers.errors,
        "times": " ".join(map(str, count.answers.times)),
    }


def _value(row: RowMapping) -> AnswersOfSpan:
    times = tuple(map(int, row["times"].split()))
    return AnswersOfSpan(
        row["node"], row["name"], row["span"], Answers(row["requests"], row["errors"], times)
    )


def _answers_key(count: AnswersOfSpan) -> tuple[str, str, int]:
    return count.node, count.name, count.span

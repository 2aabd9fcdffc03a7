"""What nodes answered for sites that are watched, in the database and in memory.

Takes and returns plain values. Does not judge.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from sqlalchemy import Column, Connection, RowMapping, Table, delete, insert, select
from sqlalchemy.types import BigInteger

from flex.model.node_answer_counts import Answers, AnswersOfSpan, fuller
from flex.store.database_by_url import StorePart
from flex.store.memory_transactions import AllOrNothing
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

# As many names in one question: databases limit how many values a statement may have.
_AT_ONCE = 500


class SqlAnswersOfSites(StorePart):
    def put_answers(self, counted: Sequence[AnswersOfSpan]) -> None:
        with self._database.writing() as connection:
            for count in counted:
                same = _same(count)
                row = connection.execute(select(answers_of_sites).where(same))
                known = row.mappings().one_or_none()
                kept = fuller(count, _value(known) if known else None)
                connection.execute(delete(answers_of_sites).where(same))
                connection.execute(insert(answers_of_sites), _row(kept))

    def answers_of(self, names: Collection[str]) -> tuple[AnswersOfSpan, ...]:
        answers: list[AnswersOfSpan] = []
        ordered = sorted(names)
        with self._database.reading() as connection:
            for begin in range(0, len(ordered), _AT_ONCE):
                answers += _read_answers(connection, ordered[begin : begin + _AT_ONCE])
        return tuple(sorted(answers, key=_answers_key))

    def forget_answers(self, before: int) -> None:
        with self._database.writing() as connection:
            old = answers_of_sites.c.span < before
            connection.execute(delete(answers_of_sites).where(old))


class MemoryAnswersOfSites(AllOrNothing):
    def __init__(self) -> None:
        super().__init__()
        self._answers_of_sites: dict[tuple[str, str, int], AnswersOfSpan] = {}

    def put_answers(self, counted: Sequence[AnswersOfSpan]) -> None:
        with self._lock:
            self._refuse_lost()
            kept = self._answers_of_sites
            for count in counted:
                key = count.node, count.name, count.span
                kept[key] = fuller(count, kept.get(key))

    def answers_of(self, names: Collection[str]) -> tuple[AnswersOfSpan, ...]:
        with self._lock:
            every = list(self._answers_of_sites.values())
        wanted = set(names)
        return tuple(
            sorted(
                (count for count in every if count.name in wanted),
                key=_answers_key,
            )
        )

    def forget_answers(self, before: int) -> None:
        with self._lock:
            self._refuse_lost()
            for key in [key for key in self._answers_of_sites if key[2] < before]:
                del self._answers_of_sites[key]


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

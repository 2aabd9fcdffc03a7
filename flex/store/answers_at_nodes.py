"""What nodes answered for sites that are watched, in the database.

Takes and returns plain values. Does not judge.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from sqlalchemy import Column, Connection, RowMapping, Table, bindparam, delete, insert, select
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

_KEY = ("its_node", "its_name", "its_span")
_WITHOUT = delete(answers_of_sites).where(
    *(
        column == bindparam(name)
        for column, name in zip(answers_of_sites.primary_key, _KEY, strict=True)
    )
)


class SqlAnswersOfSites(StorePart):
    """Doors count; nobody decides: not in the audit log."""

    def put_answers(self, counted: Sequence[AnswersOfSpan]) -> None:
        """Each in place of the one of the same node, name and span, unless that has more. Where
        none has, nobody who writes waits for it.
        """
        if not self._news(counted):
            return
        with self._database.writing() as connection:
            news = self._news(counted)
            rows = [_row(count) for count in news]
            if rows:
                connection.execute(
                    _WITHOUT, [dict(zip(_KEY, _key(each), strict=True)) for each in news]
                )
                connection.execute(insert(answers_of_sites), rows)

    def _news(self, counted: Sequence[AnswersOfSpan]) -> list[AnswersOfSpan]:
        """What says more than is known, or other than it."""
        known = {_key(each): each for each in self.answers_of({each.name for each in counted})}
        news: dict[tuple[str, str, int], AnswersOfSpan] = {}
        for count in counted:
            key = _key(count)
            before = news.get(key) or known.get(key)
            if (kept := fuller(count, before)) != before:
                news[key] = kept
        return list(news.values())

    def answers_of(self, names: Collection[str]) -> tuple[AnswersOfSpan, ...]:
        """In order of nodes, names and spans."""
        answers: list[AnswersOfSpan] = []
        with self._database.reading() as connection:
            for few in frames_to_tables.parts(sorted(names)):
                answers += _read_answers(connection, few)
        return tuple(sorted(answers, key=_key))

    def forget_answers(self, before: int) -> None:
        """Those of earlier spans."""
        with self._database.writing() as connection:
            old = answers_of_sites.c.span < before
            connection.execute(delete(answers_of_sites).where(old))


def _read_answers(connection: Connection, names: Sequence[str]) -> list[AnswersOfSpan]:
    query = select(answers_of_sites).where(answers_of_sites.c.name.in_(names))
    return [_value(row) for row in connection.execute(query).mappings()]


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


def _key(count: AnswersOfSpan) -> tuple[str, str, int]:
    return count.node, count.name, count.span

"""The audit log in the database. Entries are added and never changed."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict
from datetime import datetime
from functools import partial

from sqlalchemy import ColumnElement, Connection, Select, func, insert, or_, select, update

from flex.model.audit_chain import Entry, Head, entry
from flex.store.database_by_url import StorePart
from flex.store.schema import audit, audit_head


class SqlAudit(StorePart):
    def note(self, action: str, subject: str, before: object, after: object) -> Entry:
        """Adds an entry in the author's name, in the transaction of the change, if any."""
        with self._database.writing() as connection:
            new_entry = entry(_head(connection), self._author, action, subject, before, after)
            connection.execute(insert(audit), asdict(new_entry))
            connection.execute(
                update(audit_head).values(number=new_entry.number, hash=new_entry.hash)
            )
        return new_entry

    def audit_head(self) -> Head:
        """The number and hash of the last entry, which are stored apart from the entries."""
        with self._database.reading() as connection:
            return _head(connection)

    def entries(self, after: int = 0, limit: int = 1000) -> tuple[Entry, ...]:
        """The entries behind that number, in order."""
        return self._find(
            select(audit).where(audit.c.number > after).order_by(audit.c.number).limit(limit)
        )

    def found_entries(
        self,
        limit: int,
        behind: int | None = None,
        *,
        down: bool = True,
        actor: str = "",
        action: str = "",
        subject: str = "",
        since: datetime | None = None,
        until: datetime | None = None,
    ) -> tuple[Entry, ...]:
        """The entries behind that number, the newest first, or last where not `down`. An action
        also stands for all actions that begin with it and a dot.
        """
        number = audit.c.number
        wanted = select(audit).order_by(number.desc() if down else number).limit(limit)
        if behind is not None:
            wanted = wanted.where(number < behind if down else number > behind)
        if actor:
            wanted = wanted.where(audit.c.actor == actor)
        if action:
            wanted = wanted.where(_is(action))
        if subject:
            wanted = wanted.where(audit.c.subject == subject)
        if since is not None:
            wanted = wanted.where(audit.c.time >= since)
        if until is not None:
            wanted = wanted.where(audit.c.time < until)
        return self._find(wanted)

    def last_number(self, *actions: str) -> int:
        """The number of the last entry with one of these actions, or of all entries where none is
        named; 0 before the first.
        """
        return self._database.remember(("noted", *actions), partial(self._last_number, actions))

    def _last_number(self, actions: Sequence[str]) -> int:
        # One question an action: each is a look at the end of an index.
        wanted = [
            select(func.max(audit.c.number)).where(audit.c.action == action) for action in actions
        ]
        with self._database.reading() as connection:
            numbers = [
                connection.scalar(query) for query in wanted or [select(func.max(audit.c.number))]
            ]
        return max(number or 0 for number in numbers)

    def last_of_each(self, *actions: str, saying: Collection[str] = ()) -> Mapping[str, Entry]:
        """The last entry with one of these actions about each subject; only of those with one of
        these texts before or after the change, where any is given.
        """
        last = (
            select(func.max(audit.c.number))
            .where(audit.c.action.in_(actions))
            .group_by(audit.c.subject)
        )
        if saying:
            columns = (audit.c.before, audit.c.after)
            texts = (one.contains(text, autoescape=True) for text in saying for one in columns)
            last = last.where(or_(*texts))
        entries = self._find(select(audit).where(audit.c.number.in_(last)))
        return {one.subject: one for one in entries}

    def stamp(self) -> int | None:
        """A number that differs after every change, whoever made it. None where the store cannot
        tell without being read.
        """
        return self._database.stamp()

    def _find(self, wanted: Select[tuple[object, ...]]) -> tuple[Entry, ...]:
        with self._database.reading() as connection:
            return tuple(Entry(**row) for row in connection.execute(wanted).mappings())


def _is(action: str) -> ColumnElement[bool]:
    return or_(
        audit.c.action == action, func.substr(audit.c.action, 1, len(action) + 1) == f"{action}."
    )


def _head(connection: Connection) -> Head:
    """Not of the entries: where the newest were taken out, the next one must not take their
    numbers.
    """
    return Head(*connection.execute(select(audit_head.c.number, audit_head.c.hash)).one())

"""What came to doors of nodes that do not have the site, in the database and in memory.

Takes readings of doors. Returns strays. What is added up is in flex/model/stray_requests.py.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import asdict
from datetime import datetime

from sqlalchemy import Connection, delete, insert, select

from flex.model.stray_requests import DoorRead, Stray, StrayReading, strays_after_reading
from flex.store.database_by_url import StorePart
from flex.store.memory_transactions import AllOrNothing
from flex.store.schema import doors_read, strays

# As many names in one question: databases limit how many values a statement may have.
_AT_ONCE = 500


class SqlStrays(StorePart):
    def note_strays(self, node: str, reading: StrayReading, now: datetime) -> None:
        with self._database.writing() as connection:
            door = _door(connection, node)
            if door and now <= door.read:
                return
            here = select(strays).where(strays.c.node == node)
            before = [Stray(**row) for row in connection.execute(here).mappings()]
            told, kept = strays_after_reading(before, door, node, reading, now)
            connection.execute(delete(strays).where(strays.c.node == node))
            connection.execute(delete(doors_read).where(doors_read.c.node == node))
            connection.execute(insert(doors_read), asdict(told))
            if kept:
                connection.execute(insert(strays), [asdict(stray) for stray in kept])

    def strays(self, names: Collection[str] | None = None) -> tuple[Stray, ...]:
        query = select(strays).order_by(strays.c.node, strays.c.name)
        with self._database.reading() as connection:
            if names is None:
                all_rows = connection.execute(query).mappings()
                return tuple(Stray(**row) for row in all_rows)
            parts: list[Stray] = []
            ordered = sorted(names)
            for begin in range(0, len(ordered), _AT_ONCE):
                these = strays.c.name.in_(ordered[begin : begin + _AT_ONCE])
                rows = connection.execute(query.where(these)).mappings()
                parts += [Stray(**row) for row in rows]
        return tuple(sorted(parts, key=lambda stray: (stray.node, stray.name)))

    def doors_read(self) -> tuple[DoorRead, ...]:
        with self._database.reading() as connection:
            rows = connection.execute(select(doors_read).order_by(doors_read.c.node)).mappings()
            return tuple(DoorRead(**row) for row in rows)


class MemoryStrays(AllOrNothing):
    def __init__(self) -> None:
        super().__init__()
        self._strays: dict[str, tuple[Stray, ...]] = {}
        self._doors_read: dict[str, DoorRead] = {}

    def note_strays(self, node: str, reading: StrayReading, now: datetime) -> None:
        with self._lock:
            self._refuse_lost()
            door = self._doors_read.get(node)
            if door and now <= door.read:
                return
            before = self._strays.get(node, ())
            told, kept = strays_after_reading(before, door, node, reading, now)
            self._doors_read[node], self._strays[node] = told, kept

    def strays(self, names: Collection[str] | None = None) -> tuple[Stray, ...]:
        with self._lock:
            every = [each for node in sorted(self._strays) for each in self._strays[node]]
        wanted = None if names is None else set(names)
        return tuple(each for each in every if wanted is None or each.name in wanted)

    def doors_read(self) -> tuple[DoorRead, ...]:
        with self._lock:
            return tuple(self._doors_read[node] for node in sorted(self._doors_read))


def _door(connection: Connection, node: str) -> DoorRead | None:
    rows = connection.execute(select(doors_read).where(doors_read.c.node == node)).mappings()
    row = rows.one_or_none()
    return DoorRead(**row) if row is not None else None

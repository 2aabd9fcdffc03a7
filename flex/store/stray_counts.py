"""What came to doors of nodes that do not have the site, in the database.

Takes readings of doors. Returns strays. What is added up is in flex/model/stray_requests.py.
"""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime

from sqlalchemy import delete, insert

from flex.model.stray_requests import DoorRead, Stray, StrayReading, strays_after_reading
from flex.store.database_by_url import StorePart
from flex.store.keyed_table import KeyedTable
from flex.store.schema import doors_read, strays

STRAYS = KeyedTable(strays, Stray)
DOORS_READ = KeyedTable(doors_read, DoorRead)


class SqlStrays(StorePart):
    """Doors count; nobody decides: not in the audit log."""

    def note_strays(self, node: str, reading: StrayReading, now: datetime) -> None:
        """Adds what came since the node's last reading. One that is no later changes nothing."""
        with self._database.writing() as connection:
            door = DOORS_READ.get(self._database, node)
            if door and now <= door.read:
                return
            before = STRAYS.all(self._database, strays.c.node == node)
            told, kept = strays_after_reading(before, door, node, reading, now)
            connection.execute(delete(strays).where(strays.c.node == node))
            DOORS_READ.put(self._database, told)
            if kept:
                connection.execute(insert(strays), [STRAYS.row(stray) for stray in kept])

    def strays(self, names: Collection[str] | None = None) -> tuple[Stray, ...]:
        """Those of these names, or all; in order of nodes and names."""
        if names is None:
            return STRAYS.all(self._database)
        kept = STRAYS.among(self._database, strays.c.name, names)
        return tuple(sorted(kept, key=lambda stray: (stray.node, stray.name)))

    def doors_read(self) -> tuple[DoorRead, ...]:
        """In order of nodes."""
        return DOORS_READ.all(self._database)

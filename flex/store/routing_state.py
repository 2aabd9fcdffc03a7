"""What routing has to remember, in the database: members' slots, and the large map of owners.

Takes and returns plain values. Does not know what HAProxy makes of them.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping

from sqlalchemy import Connection, delete, insert, select

from flex.store import schema
from flex.store.database import Part
from flex.store.schema import owners_map


class SqlRoutingState(Part):
    def slots(self) -> Mapping[str, Mapping[str, int]]:
        return self._database.remember("slots", self._slots)

    def _slots(self) -> dict[str, dict[str, int]]:
        found: dict[str, dict[str, int]] = {}
        with self._database.reading() as connection:
            # Columns by their places: names for each row would take longer than reading it.
            for site, node, slot in connection.execute(select(schema.slots)):
                found.setdefault(site, {})[node] = slot
        return found

    def put_slots(
        self, site: str, slots: Mapping[str, int], before: Mapping[str, int]
    ) -> bool:
        rows = [
            {"site": site, "node": node, "slot": slot} for node, slot in slots.items()
        ]
        of_site = schema.slots.c.site == site
        with self._database.writing() as connection:
            there = connection.execute(select(schema.slots).where(of_site))
            if {row.node: row.slot for row in there} != before:
                return False
            connection.execute(delete(schema.slots).where(of_site))
            if rows:
                connection.execute(insert(schema.slots), rows)
        return True

    def large_map(self) -> str:
        return self._database.remember("large map", self._large_map)

    def _large_map(self) -> str:
        with self._database.reading() as connection:
            packed = connection.execute(
                select(owners_map.c.content)
            ).scalar_one_or_none()
        return zlib.decompress(packed).decode("ascii") if packed is not None else ""

    def large_map_digest(self) -> str:
        with self._database.reading() as connection:
            return _digest(connection)

    def put_large_map(self, text: str, digest: str, before: str) -> bool:
        row = {
            "id": 1,
            "digest": digest,
            "content": zlib.compress(text.encode("ascii")),
        }
        with self._database.writing() as connection:
            if _digest(connection) != before:
                return False
            connection.execute(delete(owners_map))
            connection.execute(insert(owners_map), row)
        return True


def _digest(connection: Connection) -> str:
    kept = connection.execute(select(owners_map.c.digest)).scalar_one_or_none()
    return kept or ""

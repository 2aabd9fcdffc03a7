"""What the routing of replicated sites has to remember, in the database: members' slots.

Takes and returns plain values. Does not know what HAProxy makes of them.
"""

from __future__ import annotations

from collections.abc import Mapping

from sqlalchemy import delete, insert, select

from flex.store import schema
from flex.store.database import StorePart


class SqlRoutingState(StorePart):
    def slots(self) -> Mapping[str, Mapping[str, int]]:
        return self._database.remember("slots", self._slots)

    def _slots(self) -> dict[str, dict[str, int]]:
        found: dict[str, dict[str, int]] = {}
        with self._database.reading() as connection:
            # Columns by their places: names for each row would take longer than reading it.
            for site, node, slot in connection.execute(select(schema.slots)):
                found.setdefault(site, {})[node] = slot
        return found

    def put_slots(self, site: str, slots: Mapping[str, int], before: Mapping[str, int]) -> bool:
        rows = [{"site": site, "node": node, "slot": slot} for node, slot in slots.items()]
        of_site = schema.slots.c.site == site
        with self._database.writing() as connection:
            there = connection.execute(select(schema.slots).where(of_site))
            if {row.node: row.slot for row in there} != before:
                return False
            connection.execute(delete(schema.slots).where(of_site))
            if rows:
                connection.execute(insert(schema.slots), rows)
        return True

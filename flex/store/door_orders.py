"""What doors go by, in the database: the large map of owners, the newest order with
its small map, and what each node said of itself.

Takes and returns plain values. Does not know what is in a map.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import asdict

from sqlalchemy import Connection, delete, insert, select

from flex.model.orders_to_doors import DoorOrder, DoorReport
from flex.store.database_by_url import StorePart
from flex.store.schema import door_order, door_reports, owners_map

# All but the map, which may be large.
_ORDER = tuple(column for column in door_order.c if column.name not in ("id", "content"))


class SqlDoorOrders(StorePart):
    """Plans and people decide; these only follow, so they are not in the audit log."""

    def large_map(self) -> str:
        """Who owns which host name, as all nodes have it; "" before the first."""
        return self._database.remember("large map", self._large_map)

    def _large_map(self) -> str:
        with self._database.reading() as connection:
            packed = connection.execute(select(owners_map.c.content)).scalar_one_or_none()
        return _decompress(packed)

    def large_map_digest(self) -> str:
        """The digest of the large map that is kept, without reading it; "" before the first."""
        with self._database.reading() as connection:
            return _digest(connection)

    def put_large_map(self, text: str, digest: str, before: str) -> bool:
        """In place of the one whose digest is `before` ("": of none); False, and nothing changed,
        where another one is there. Nobody wished for it: not in the audit log.
        """
        row = {"id": 1, "digest": digest, "content": _compress(text)}
        with self._database.writing() as connection:
            if _digest(connection) != before:
                return False
            connection.execute(delete(owners_map))
            connection.execute(insert(owners_map), row)
        return True

    def door_order(self) -> DoorOrder | None:
        """The newest; None before the first. Quick: whoever waits for the next one asks often."""
        return self._database.remember("door order", self._door_order)

    def _door_order(self) -> DoorOrder | None:
        with self._database.reading() as connection:
            return _order(connection)

    def moved_map(self) -> str:
        """The small map of the newest order, "" before the first; earlier ones are not kept."""
        with self._database.reading() as connection:
            packed = connection.execute(select(door_order.c.content)).scalar_one_or_none()
        return _decompress(packed)

    def put_door_order(self, order: DoorOrder, moved: str, before: int) -> bool:
        """In place of the one whose number is `before` (0: of none); False, and nothing changed,
        where another one is there or the number does not grow.
        """
        row = {
            "id": 1,
            **asdict(order),
            "waiting": "\n".join(sorted(order.waiting)),
            "held": "\n".join(sorted(order.held)),
            "content": _compress(moved),
        }
        with self._database.writing() as connection:
            if not _grows(order, _order(connection), before):
                return False
            connection.execute(delete(door_order))
            connection.execute(insert(door_order), row)
        return True

    def note_door_reports(self, reports: Sequence[DoorReport]) -> None:
        """All of them or none. Each node has one report: a new one replaces the old one."""
        with self._database.writing() as connection:
            for report in reports:
                connection.execute(delete(door_reports).where(door_reports.c.node == report.node))
                busy = "".join(f"{name} {count}\n" for name, count in report.busy)
                row = {**asdict(report), "busy": busy}
                connection.execute(insert(door_reports), row)

    def door_reports(self) -> tuple[DoorReport, ...]:
        """In order of nodes."""
        with self._database.reading() as connection:
            rows = connection.execute(select(door_reports).order_by(door_reports.c.node)).mappings()
            return tuple(DoorReport(**{**row, "busy": _counts(row["busy"])}) for row in rows)


def _grows(order: DoorOrder, last: DoorOrder | None, before: int) -> bool:
    return (last.number if last else 0) == before < order.number


def _order(connection: Connection) -> DoorOrder | None:
    row = connection.execute(select(*_ORDER)).mappings().one_or_none()
    if row is None:
        return None
    sites = {name: frozenset(row[name].splitlines()) for name in ("waiting", "held")}
    return DoorOrder(**{**row, **sites})


def _counts(text: str) -> tuple[tuple[str, int], ...]:
    pairs = (line.split(" ") for line in text.splitlines())
    return tuple((name, int(count)) for name, count in pairs)


def _digest(connection: Connection) -> str:
    kept = connection.execute(select(owners_map.c.digest)).scalar_one_or_none()
    return kept or ""


def _compress(text: str) -> bytes:
    # The quickest: whoever orders waits for it, and it is exchanged with the next order.
    return zlib.compress(text.encode("ascii"), 1)


def _decompress(packed: bytes | None) -> str:
    return zlib.decompress(packed).decode("ascii") if packed is not None else ""

"""Pins in the database. A column is a field of a pin, by the same name."""

from __future__ import annotations

from typing import Any

from sqlalchemy import ColumnElement, RowMapping, delete, insert, select

from flex.model.wish import FIELDS, Pin
from flex.store.database_by_url import StorePart
from flex.store.schema import pins


class SqlWishes(StorePart):
    def pins(self) -> tuple[Pin, ...]:
        """In order of site, the standing one first."""
        wanted = select(pins).order_by(pins.c.site, pins.c.campaign)
        with self._database.reading() as connection:
            return tuple(_pin(row) for row in connection.execute(wanted).mappings())

    def pin(self, site: str, campaign: str = "") -> Pin | None:
        with self._database.reading() as connection:
            row = (
                connection.execute(select(pins).where(*_key(site, campaign)))
                .mappings()
                .one_or_none()
            )
        return _pin(row) if row else None

    def put_pin(self, pin: Pin) -> None:
        with self._database.writing() as connection:
            connection.execute(delete(pins).where(*_key(pin.site, pin.campaign)))
            connection.execute(insert(pins), _row(pin))

    def drop_pin(self, site: str, campaign: str = "") -> bool:
        with self._database.writing() as connection:
            return connection.execute(delete(pins).where(*_key(site, campaign))).rowcount > 0


def _key(site: str, campaign: str) -> tuple[ColumnElement[bool], ...]:
    return pins.c.site == site, pins.c.campaign == campaign


def _row(pin: Pin) -> dict[str, object]:
    """JSON has lists for tuples."""
    return {name: getattr(pin, name) for name in FIELDS}


def _pin(row: RowMapping) -> Pin:
    # Any: a value of any field.
    values: dict[str, Any] = {name: row[name] for name in FIELDS}
    for name, value in values.items():
        if isinstance(value, list):
            values[name] = tuple(value)
    return Pin(**values)

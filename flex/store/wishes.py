"""Pins in the database."""

from __future__ import annotations

from flex.model.wish import Pin
from flex.store.database_by_url import StorePart
from flex.store.keyed_table import KeyedTable
from flex.store.schema import pins

# The standing one of a site comes first.
PINS = KeyedTable(pins, Pin, "site", "campaign")


class SqlWishes(StorePart):
    def pins(self) -> tuple[Pin, ...]:
        return PINS.all(self._database)

    def pin(self, site: str, campaign: str = "") -> Pin | None:
        return PINS.get(self._database, site, campaign)

    def put_pin(self, pin: Pin) -> None:
        """Stores the wish. A site has at most one permanent wish and one per campaign; a new one
        replaces the old.
        """
        PINS.put(self._database, pin)

    def drop_pin(self, site: str, campaign: str = "") -> bool:
        """Returns whether there was one."""
        return PINS.drop(self._database, site, campaign)

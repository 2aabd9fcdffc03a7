"""Pins in the database."""

from __future__ import annotations

from sqlalchemy import ColumnElement, RowMapping, delete, insert, select

from flex.model.pin import Pin
from flex.store.database import Part
from flex.store.schema import pins


class SqlWishes(Part):
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
            return (
                connection.execute(delete(pins).where(*_key(site, campaign))).rowcount
                > 0
            )


def _key(site: str, campaign: str) -> tuple[ColumnElement[bool], ...]:
    return pins.c.site == site, pins.c.campaign == campaign


def _row(pin: Pin) -> dict[str, object]:
    return {
        "site": pin.site,
        "nodes": list(pin.nodes),
        "min_replicas": pin.min_replicas,
        "until": pin.until,
        "reason": pin.reason,
        "author": pin.author,
        "not_on": list(pin.not_on),
        "max_replicas": pin.max_replicas,
        "together": list(pin.together),
        "apart": list(pin.apart),
        "since": pin.since,
        "weight": pin.weight,
        "sla": pin.sla,
        "excluded": pin.excluded,
        "campaign": pin.campaign,
    }


def _pin(row: RowMapping) -> Pin:
    return Pin(
        site=row["site"],
        nodes=tuple(row["nodes"]),
        min_replicas=row["min_replicas"],
        until=row["until"],
        reason=row["reason"],
        author=row["author"],
        not_on=tuple(row["not_on"]),
        max_replicas=row["max_replicas"],
        together=tuple(row["together"]),
        apart=tuple(row["apart"]),
        since=row["since"],
        weight=row["weight"],
        sla=row["sla"],
        excluded=row["excluded"],
        campaign=row["campaign"],
    )

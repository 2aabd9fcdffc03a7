"""Site profiles of each period in the database."""

from __future__ import annotations

from datetime import datetime

import pandas as pd
from sqlalchemy import and_, delete, func, insert, select, true

from flex.domain import Period
from flex.store import bulk, schema
from flex.store.database import Part
from flex.store.schema import periods
from flex.tables import PROFILES, SPREADS


class SqlProfiles(Part):
    def put_profiles(self, period: Period, profiles: pd.DataFrame, spreads: pd.DataFrame) -> None:
        PROFILES.check(profiles), SPREADS.check(spreads)
        same = and_(periods.c.start == period.start, periods.c.end == period.end)
        with self._database.writing() as connection:
            for old in connection.scalars(select(periods.c.id).where(same)).all():
                connection.execute(delete(schema.profiles).where(schema.profiles.c.period == old))
                connection.execute(delete(schema.spreads).where(schema.spreads.c.period == old))
                connection.execute(delete(periods).where(periods.c.id == old))
            made = insert(periods).values(start=period.start, end=period.end).returning(periods.c.id)
            key = connection.execute(made).scalar_one()
            bulk.store(connection, schema.profiles, key, profiles)
            bulk.store(connection, schema.spreads, key, spreads)

    def profiles(self, until: datetime | None = None) -> tuple[Period, pd.DataFrame, pd.DataFrame] | None:
        """Of two periods that end at the same time, the one that was stored last is the latest."""
        ended = true() if until is None else periods.c.end <= until
        latest = select(periods).where(ended).order_by(periods.c.end.desc(), periods.c.id.desc()).limit(1)
        with self._database.reading() as connection:
            row = connection.execute(latest).one_or_none()
            if row is None:
                return None
            found = bulk.load(connection, schema.profiles, row.id, PROFILES)
            spread = bulk.load(connection, schema.spreads, row.id, SPREADS)
        return Period(row.start, row.end), found, spread

    def drop_profiles(self, before: datetime) -> int:
        with self._database.writing() as connection:
            newest = connection.scalar(select(func.max(periods.c.end)))
            old = select(periods.c.id).where(periods.c.end < before, periods.c.end < newest)
            found = connection.scalars(old).all() if newest else []
            for key in found:
                for table in (schema.profiles, schema.spreads):
                    connection.execute(delete(table).where(table.c.period == key))
                connection.execute(delete(periods).where(periods.c.id == key))
            return len(found)

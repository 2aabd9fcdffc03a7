"""Site profiles of each period in the database."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta

import numpy as np
import pandas as pd
from sqlalchemy import Connection, RowMapping, and_, delete, func, insert, select, true

from flex.frame_schemas import PROFILES, SPREADS
from flex.model.period import Period
from flex.store import frames_to_tables, schema
from flex.store.database_by_url import StorePart
from flex.store.schema import periods

COUNTS = tuple(name for name in PROFILES.columns if name != "site")


class SqlProfiles(StorePart):
    def put_profiles(self, period: Period, profiles: pd.DataFrame, spreads: pd.DataFrame) -> None:
        """Stores them in place of those of the same period."""
        PROFILES.check(profiles), SPREADS.check(spreads)
        same = and_(periods.c.start == period.start, periods.c.end == period.end)
        with self._database.writing() as connection:
            for old in connection.scalars(select(periods.c.id).where(same)).all():
                connection.execute(delete(schema.profiles).where(schema.profiles.c.period == old))
                connection.execute(delete(schema.spreads).where(schema.spreads.c.period == old))
                connection.execute(delete(periods).where(periods.c.id == old))
            insertion = (
                insert(periods).values(start=period.start, end=period.end).returning(periods.c.id)
            )
            key = connection.execute(insertion).scalar_one()
            frames_to_tables.store(connection, schema.profiles, key, profiles)
            frames_to_tables.store(connection, schema.spreads, key, spreads)

    def profiles(
        self, until: datetime | None = None
    ) -> tuple[Period, pd.DataFrame, pd.DataFrame] | None:
        """PROFILES and SPREADS of the latest period that ends by `until`. If two periods end
        at the same time, the one that was stored last is the latest.
        """
        ended = true() if until is None else periods.c.end <= until
        latest = (
            select(periods)
            .where(ended)
            .order_by(periods.c.end.desc(), periods.c.id.desc())
            .limit(1)
        )
        with self._database.reading() as connection:
            row = connection.execute(latest).one_or_none()
            if row is None:
                return None
            frame = frames_to_tables.load(connection, schema.profiles, row.id, PROFILES)
            spread = frames_to_tables.load(connection, schema.spreads, row.id, SPREADS)
        return Period(row.start, row.end), frame, spread

    def history(self, site: str) -> tuple[tuple[Period, Mapping[str, int]], ...]:
        """What one site asked for in each period that is kept, the earliest first, by the names of
        PROFILES.

        Profiles are in order of site, and a site stands nearly where it stood the day before: it
        is looked for from there, in a few steps of the primary key instead of through every row.
        """
        figures, near = [], 0
        with self._database.reading() as connection:
            for row in connection.execute(
                select(periods).order_by(periods.c.end, periods.c.start)
            ).all():
                near, values = _find(connection, row.id, site, near)
                if values:
                    figures.append((Period(row.start, row.end), values))
        return tuple(figures)

    def bytes_sent(self, last: Period, most: int, *, gaps: bool = False) -> pd.DataFrame:
        """Bytes sent, with a row for each site and a column for each period; `last` is the last
        column.

        The other periods are as long, and each ends a day earlier than the next. The columns stop
        where a period is missing; with `gaps` they leave it out.
        """
        table = schema.profiles
        columns = {}
        with self._database.reading() as connection:
            for period in earlier(last, most):
                same = and_(periods.c.start == period.start, periods.c.end == period.end)
                key = connection.scalar(select(periods.c.id).where(same))
                if key is None and gaps:
                    continue
                if key is None:
                    break
                wanted = select(table.c.site, table.c.access_bytes).where(table.c.period == key)
                columns[period.end] = column(
                    *frames_to_tables.columns(connection, wanted.order_by(table.c.position), 2)
                )
        return side_by_side(columns)

    def drop_profiles(self, before: datetime) -> int:
        """Deletes the periods that ended before then, never the latest. Returns how many."""
        with self._database.writing() as connection:
            newest = connection.scalar(select(func.max(periods.c.end)))
            old = select(periods.c.id).where(periods.c.end < before, periods.c.end < newest)
            period_ids = connection.scalars(old).all() if newest else []
            for key in period_ids:
                for table in (schema.profiles, schema.spreads):
                    connection.execute(delete(table).where(table.c.period == key))
                connection.execute(delete(periods).where(periods.c.id == key))
            return len(period_ids)


def earlier(last: Period, most: int) -> list[Period]:
    """A period, and as many like it as are asked for, each a day before the other."""
    return [
        Period(last.start - timedelta(days=n), last.end - timedelta(days=n)) for n in range(most)
    ]


def column(sites: Sequence[str], sent: Sequence[int]) -> pd.Series:
    return pd.Series(np.array(sent, dtype=np.float64), index=pd.Index(list(sites), dtype="str"))


def side_by_side(columns: Mapping[datetime, pd.Series]) -> pd.DataFrame:
    """What sites asked for in each period, the earliest first; nothing where they are not named."""
    if not columns:
        return pd.DataFrame()
    return (
        pd.concat({end: columns[end] for end in sorted(columns)}, axis=1).fillna(0.0).sort_index()
    )


def _find(
    connection: Connection, period: int, site: str, near: int
) -> tuple[int, dict[str, int] | None]:
    """Where the site stands or would stand, and what it asked; sought in steps that double from
    where it is likely.
    """
    low, high, step = 0, _size(connection, period), 1
    at = min(near, high - 1)
    while low < high:
        row = _read_row(connection, period, at)
        if row["site"] == site:
            return at, {name: row[name] for name in COUNTS}
        if row["site"] < site:
            low, at = at + 1, at + step
        else:
            high, at = at, at - step
        step *= 2
        if not low <= at < high:
            at = (low + high) // 2
    return low, None


def _size(connection: Connection, period: int) -> int:
    last = select(func.max(schema.profiles.c.position)).where(schema.profiles.c.period == period)
    last_position = connection.scalar(last)
    return 0 if last_position is None else last_position + 1


def _read_row(connection: Connection, period: int, position: int) -> RowMapping:
    wanted = select(schema.profiles).where(
        schema.profiles.c.period == period, schema.profiles.c.position == position
    )
    return connection.execute(wanted).mappings().one()

"""What sites asked for in earlier nights.

Takes a world and the last period. Returns bytes by site and period. They come from the profiles; a
night without a run has no profile, and then they come from the counts of the logs. A night without
logs is left out, and the nights before it still count.
"""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime

import pandas as pd

from flex.errors import NoData
from flex.model.period import Period
from flex.store.profiles import earlier
from flex.traffic import rate_and_working_set
from flex_api.facts import profiles_from_counts
from flex_api.wiring import World
from flex_logs_ingest.counts import daily_sums

# What is looked at: four weeks, and one that is predicted from them.
NIGHTS = 35
# What lies before so many nights in a row of which nothing is known was another time.
LOST = 8


def bytes_sent(world: World, last: Period, sites: Collection[str]) -> pd.DataFrame:
    """A row for each site and a column for the end of each period, the last one last. One of which
    nothing is known has its column, too, with no number in it: days of the week keep their places.

    Counts are looked at for these sites only: what else a log names may be no site.
    """
    kept = world.store.bytes_sent(last, NIGHTS, gaps=True)
    columns, lost = dict[datetime, pd.Series](), 0
    for period in earlier(last, NIGHTS) if last.end in kept else ():
        known = kept[period.end] if period.end in kept else _bytes_in_logs(world, period, sites)
        lost = 0 if known is not None else lost + 1
        if lost == LOST:
            break
        if known is not None:
            columns[period.end] = known
    if not columns:
        return pd.DataFrame()
    ends = [period.end for period in reversed(earlier(last, NIGHTS)) if period.end >= min(columns)]
    return pd.concat(columns, axis=1).fillna(0.0).sort_index().reindex(columns=ends)


def profiles(world: World, period: Period) -> tuple[pd.DataFrame, pd.DataFrame] | None:
    """PROFILES and SPREADS of just this period; None where neither they nor its counts are
    there.
    """
    stored = world.store.profiles(until=period.end)
    if stored and stored[0] == period:
        return stored[1], stored[2]
    try:
        learned, spreads, _ = profiles_from_counts.learn_profiles(world, period)
    except NoData:
        return None
    return learned, spreads


def _bytes_in_logs(world: World, period: Period, sites: Collection[str]) -> pd.Series | None:
    """None where no log of the day before was read: then this one may not have been read from its
    beginning.
    """
    if period.first_day < 1 or not world.store.segments(period.first_day - 1, period.first_day - 1):
        return None
    half_life = world.settings.profile.half_life
    directory = world.settings.ingest.directory
    weights = rate_and_working_set.weights(period, half_life) if half_life else {}
    try:
        days = {
            day: daily_sums.bytes_by_site(world.store, directory, day)
            for day in range(period.first_day, period.last_day + 1)
        }
    except NoData:
        return None
    whole = pd.concat([day_bytes * weights.get(day, 1.0) for day, day_bytes in days.items()])
    site_bytes = whole[whole.index.isin(list(sites))].groupby(level=0).sum()
    return site_bytes if len(site_bytes) else None

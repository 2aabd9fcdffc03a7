"""What sites asked for in the nights before: as their profiles have it, and where none was made, as the logs have it.

In go a world and the last period, out come bytes by site and period. A night without a run has no profile, and a new
installation has one alone, though logs of weeks may have been read: their counts say the same.
"""

from __future__ import annotations

from collections.abc import Collection
from datetime import timedelta

import pandas as pd

from flex.domain import Period
from flex.errors import NoData
from flex_api.known import learning
from flex_api.wiring import World

# What is looked at: four weeks, and one that is predicted from them.
NIGHTS = 35
NIGHT = timedelta(days=1)


def sent(world: World, last: Period, sites: Collection[str]) -> pd.DataFrame:
    """A row for each site and a column for the end of each period, the last one last, until one is not known at all.

    Of counts only these sites are looked at: what else a log names may be no site.
    """
    found = [world.store.sent(last, NIGHTS)]
    nights = found[0].shape[1]
    while 0 < nights < NIGHTS:
        counted = _counted(world, _earlier(last, nights), sites)
        if counted is None:
            break
        more = world.store.sent(_earlier(last, nights + 1), NIGHTS - nights - 1)
        found += [counted, more]
        nights += 1 + more.shape[1]
    return pd.concat([one for one in reversed(found) if one.shape[1]] or found, axis=1).fillna(0.0).sort_index()


def profiles(world: World, period: Period) -> tuple[pd.DataFrame, pd.DataFrame] | None:
    """PROFILES and SPREADS of just this period; None where neither they nor its counts are there."""
    found = world.store.profiles(until=period.end)
    if found and found[0] == period:
        return found[1], found[2]
    try:
        made, spreads, _ = learning.learned(world, period)
    except NoData:
        return None
    return made, spreads


def _earlier(last: Period, nights: int) -> Period:
    return Period(last.start - nights * NIGHT, last.end - nights * NIGHT)


def _counted(world: World, period: Period, sites: Collection[str]) -> pd.DataFrame | None:
    """None where no log of the day before was read: then this one may not have been read from its beginning."""
    if period.first_day < 1 or not world.store.segments(period.first_day - 1, period.first_day - 1):
        return None
    try:
        whole = pd.concat(list(learning.hours(world, period)), ignore_index=True)
    except NoData:
        return None
    asked = whole[whole["site"].isin(list(sites))].groupby("site")["bytes"].sum()
    return pd.DataFrame({period.end: asked.astype("float64")}) if len(asked) else None

"""The facts of a plan with the loads that are expected for the next day, where that forecast has
proved better than yesterday's figures.

Takes facts and a world. Returns facts with other loads, and with notes on the backtest and on sites
whose traffic surged. Does not change working sets, which change slowly. A site that is expected to
ask for far more than yesterday, or that had no traffic then, gets the figures of the earlier night
that was most like the expected one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pandas as pd

from flex.frame_schemas import PROFILES, SPREADS
from flex.model.accuracy import Outlook
from flex.model.period import Period
from flex.partition import rows_of_sites
from flex.planning import what_if
from flex.planning.facts_and_rules import Facts
from flex.prediction import site_traffic_forecast
from flex_api.facts import past_traffic
from flex_api.wiring import World

# So many times what it asked for yesterday, and what yesterday says of a site is not what it will
# be.
FAR = 3.0


def expect(world: World, facts: Facts) -> tuple[Facts, Outlook | None]:
    settings = world.settings.profile
    if settings.forecast == "off":
        return facts, None
    past = past_traffic.bytes_sent(world, facts.period, facts.sites)
    outlook, wanted = site_traffic_forecast.outlook(past)
    surges = site_traffic_forecast.surges(past, settings.surge)
    told = replace(
        facts, remarks=(*facts.remarks, *site_traffic_forecast.sentences(outlook, surges))
    )
    if outlook.method == site_traffic_forecast.YESTERDAY:
        return told, outlook
    # Where a list says which sites there are, each of them has a profile.
    ours = past.index.isin(
        list(facts.profiles["site"]) if world.settings.ingest.sites_file else facts.sites
    )
    return _as_expected(world, told, past[ours], wanted[ours]), outlook


def _as_expected(world: World, facts: Facts, past: pd.DataFrame, wanted: pd.Series) -> Facts:
    alike = _like_another_night(past, wanted)
    shown = [
        _select_sites(facts.profiles, facts.spreads, set(facts.profiles["site"]) - set(alike.index))
    ]
    shown += _read_other_nights(world, facts.period, alike)
    left = set(facts.profiles["site"]).difference(*(set(profiles["site"]) for profiles, _ in shown))
    shown.append(_select_sites(facts.profiles, facts.spreads, left))
    profiles, spreads = (
        pd.concat(tables, ignore_index=True) for tables in zip(*shown, strict=True)
    )
    scaled = _scale(profiles, wanted)
    return replace(facts, profiles=PROFILES.make(scaled), spreads=SPREADS.make(spreads))


def _like_another_night(past: pd.DataFrame, wanted: pd.Series) -> pd.Series:
    """The end of the period that is most like what is expected, for sites that yesterday is not
    like.
    """
    far = (
        past[wanted > FAR * past.iloc[:, -1]].dropna(axis=1).iloc[:, -site_traffic_forecast.LEAST :]
    )
    with np.errstate(divide="ignore"):
        away = np.abs(np.log(far.to_numpy()) - np.log(wanted[far.index].to_numpy())[:, None])
    # The latest of those that are equally near.
    nearest = far.shape[1] - 1 - away[:, ::-1].argmin(axis=1)
    return pd.Series(far.columns.to_numpy(dtype=object)[nearest], index=far.index, dtype=object)


def _read_other_nights(
    world: World, last: Period, alike: pd.Series
) -> Iterator[tuple[pd.DataFrame, pd.DataFrame]]:
    """What those sites were on those nights; of nights that nothing is known of any more,
    nothing.
    """
    for end in sorted(alike.unique()):
        tables = past_traffic.profiles(world, Period(end - (last.end - last.start), end))
        if tables is not None:
            yield _select_sites(*tables, set(alike.index[alike == end]))


def _select_sites(
    profiles: pd.DataFrame, spreads: pd.DataFrame, sites: set[str]
) -> tuple[pd.DataFrame, pd.DataFrame]:
    return rows_of_sites(profiles, sites), rows_of_sites(spreads, sites)


def _scale(profiles: pd.DataFrame, wanted: pd.Series) -> pd.DataFrame:
    """The same with as many visitors as are expected."""
    sent = profiles["access_bytes"].to_numpy(dtype=np.float64)
    foretold = wanted.reindex(profiles["site"]).to_numpy()
    known = (sent > 0) & np.isfinite(foretold)
    factor = np.divide(foretold, sent, out=np.ones_like(sent), where=known)
    return profiles.assign(
        **{
            name: np.rint(profiles[name].to_numpy() * factor).astype(np.int64)
            for name in what_if.VISITS
        }
    )

"""Makes the profiles of a period from the counts of the logs. Does not store them."""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd

from flex.errors import NoData
from flex.model.period import Period
from flex.traffic import rate_and_working_set
from flex.traffic.replicas_and_demand import RESOURCES
from flex_api import which_names_are_sites
from flex_api.in_words import amounts
from flex_api.wiring import World, merging
from flex_logs_ingest.counts import add_up_hours_and_sample
from flex_logs_ingest.counts.file_table import file_table

# Working sets on k replicas are kept for sites that ask for more than this share of a node.
LARGE = 0.3
# What profiles need of the file table.
SIZES = ("site", "requests", "size")


def learn_profiles(world: World, period: Period) -> tuple[pd.DataFrame, pd.DataFrame, str]:
    """PROFILES and SPREADS of the hosted sites, and what is to be said of names that are none; ""
    where there are none.

    Raises NoData where no line of the period was read, or where its counts were deleted.
    """
    files = file_table(world.store, world.settings.ingest.directory, period, merging(world, period))
    every = rate_and_working_set.profiles_of(files.pieces(SIZES), hours(world, period))
    if not len(every):
        raise NoData(
            f"profiles of {period}",
            "no line of that period was read",
            kept="the partition in force stays",
            advice="see that the logs arrive and that the clock is right; `flex "
            "ingest` shows every file",
        )
    listed = world.settings.ingest.sites_file and which_names_are_sites.read_site_list(
        world.settings.ingest.sites_file
    )
    profiles, strangers = which_names_are_sites.only(every, listed or None)
    large = _large_sites(world, profiles)
    spreads = rate_and_working_set.spreads_of(
        files.pieces(SIZES, large), large, most=max(len(world.nodes), 2)
    )
    return profiles, spreads, _strangers_note(profiles, every) if strangers else ""


def hours(world: World, period: Period) -> Iterator[pd.DataFrame]:
    """HOURS of each day, weighed as the settings say. Raises NoData where counts were deleted."""
    days = add_up_hours_and_sample.hours_by_day(
        world.store, world.settings.ingest.directory, period
    )
    half_life = world.settings.profile.half_life
    return rate_and_working_set.weigh_days(days, period, half_life) if half_life else days


def _strangers_note(profiles: pd.DataFrame, every: pd.DataFrame) -> str:
    ours, total = int(profiles["requests"].sum()), int(every["requests"].sum())
    left = amounts.share((total - ours) / max(total, 1))
    return (
        f"{left} of the requests were for no site of ours and are left out: `flex "
        "sites unknown` names them."
    )


def _large_sites(world: World, profiles: pd.DataFrame) -> list[str]:
    columns = [RESOURCES[name] for name in world.settings.solver.dimensions]
    shares = profiles[columns] / profiles[columns].sum().clip(lower=1)
    large = profiles["site"][(shares * len(world.nodes) > LARGE).any(axis=1)]
    pinned = {pin.site for pin in world.store.pins() if max(pin.min_replicas, len(pin.nodes)) > 1}
    return sorted(set(large) | (pinned & set(profiles["site"])))

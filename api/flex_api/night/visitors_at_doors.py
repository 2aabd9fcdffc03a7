"""The facts of a plan with what doors know of visitors: who comes to nodes without the site, and
which sites' visitors stay where they are as FLEX does not change their DNS.

Takes a world and facts. Returns facts. Asks the doors that can be asked from here. Changes nothing
without doors for all sites.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace
from datetime import datetime

import pandas as pd

from flex.model.period import Period
from flex.model.stray_requests import Arrival, Visitors
from flex.partition import nodes_by_site, rows_of_sites
from flex.planning.facts_and_rules import Facts
from flex.store import Store
from flex.zones import records_of_partition
from flex_api.facts import visitors_at_other_nodes
from flex_api.night import note_strays_of_doors
from flex_api.settings.file import Settings
from flex_api.wiring import World, site_names

# Seconds: as often as a node that follows reports. Fewer say little of how many come in an hour.
_LEAST = 300.0


def add_visitors(world: World, facts: Facts, *, ask: bool) -> Facts:
    """With `ask`, doors are read first, where that was not done within the last minute."""
    settings, now = world.settings, world.time_of_day()
    if not settings.routing.leads_to_all:
        return facts
    if ask:
        note_strays_of_doors.note_strays(settings, world.store, now)
    visitors = visitors_elsewhere(settings, world.store, facts.placement)
    return replace(
        facts,
        arrivals=tuple(arrivals(visitors, facts.profiles, facts.period, now)),
        doors_alone=_not_followed_by_dns(world, facts),
    )


def visitors_elsewhere(settings: Settings, store: Store, partition: pd.DataFrame) -> list[Visitors]:
    """Who comes to nodes that do not have the site by this partition, as doors were read last."""
    naming = site_names(settings).naming()
    strays = store.strays()
    sites = {naming(stray.name.encode()) for stray in strays}
    nodes = nodes_by_site(rows_of_sites(partition, sites))
    return visitors_at_other_nodes.visitors(
        strays, lambda name: naming(name.encode()), lambda site: nodes.get(site, ())
    )


def arrivals(
    visitors: Iterable[Visitors], profiles: pd.DataFrame, period: Period, now: datetime
) -> Iterator[Arrival]:
    """The visitors of the period or later, as shares of the requests for their site."""
    wanted = list(visitors)
    known = profiles[profiles["site"].isin([visitor_group.site for visitor_group in wanted])]
    site_requests = dict(zip(known["site"], known["requests"], strict=True))
    for visitor_group in wanted:
        requests = site_requests.get(visitor_group.site, 0)
        if requests and visitor_group.last >= period.start:
            counted = max((now - visitor_group.since).total_seconds(), _LEAST)
            share = visitor_group.requests / counted * period.seconds / requests
            yield Arrival(visitor_group.site, visitor_group.node, min(share, 1.0))


def _not_followed_by_dns(world: World, facts: Facts) -> frozenset[str]:
    """What can be said of it without asking a name server: the plan in force says what it found."""
    settings, sites = world.settings, facts.sites
    alone = visitors_at_other_nodes.left_to_doors(settings, sites)
    theirs = _theirs(world, facts.base)
    led = settings.routing.publishing().sites_led_by_doors(sites) if theirs else ()
    return alone.union(site for site in led if records_of_partition.name_of(site) in theirs)


def _theirs(world: World, base: str) -> Collection[str]:
    """The names that the plan in force may not change."""
    zone_plans = world.store.plan(base).zone_plans if base else ()
    return {name for zone_plan in zone_plans for name in zone_plan.why_foreign}

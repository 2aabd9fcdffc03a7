"""Which sites have visitors that come to nodes without the site, since when, and what is not known
of that.

Takes what doors counted by host name, and where sites are. Returns it by site and node. Asks
nobody.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import replace
from datetime import datetime, timedelta

from flex.model.stray_requests import DoorRead, Stray, Visitors
from flex.zones import records_of_partition
from flex_api.settings.file import Settings

# What was read longer ago says little of today. Doors are read every few minutes.
LATELY = timedelta(days=1)


def visitors(
    strays: Iterable[Stray],
    site_of: Callable[[str], str],
    nodes_of: Callable[[str], Collection[str]],
) -> list[Visitors]:
    """Most requests first. Without nodes that have the site by now, and without sites that are
    nowhere.
    """
    visitors_of: dict[tuple[str, str], Visitors] = {}
    for stray in strays:
        site = site_of(stray.name)
        here = nodes_of(site) if site else ()
        if not here or stray.node in here:
            continue
        key = site, stray.node
        new = Visitors(site, stray.node, stray.requests, stray.first, stray.last)
        visitors_of[key] = _both(visitors_of[key], new) if key in visitors_of else new
    return sorted(visitors_of.values(), key=lambda row: (-row.requests, row.site, row.node))


def _both(known: Visitors, other: Visitors) -> Visitors:
    return replace(
        known,
        requests=known.requests + other.requests,
        since=min(known.since, other.since),
        last=max(known.last, other.last),
    )


def not_known(doors: Iterable[DoorRead], serving: Collection[str], now: datetime) -> list[str]:
    """The nodes whose doors were not read lately, or counted more names than are kept: a site may
    have visitors there that nobody knows of.
    """
    told = {door.node for door in doors if door.kept >= door.names and now - door.read <= LATELY}
    return [node for node in serving if node not in told]


def left_to_doors(settings: Settings, sites: Collection[str]) -> frozenset[str]:
    """The sites that doors lead to and whose records FLEX does not write: by the settings alone."""
    publishing = settings.routing.publishing()
    led = publishing.sites_led_by_doors(sites)
    return (led - publishing.sites_led_by_dns(led)).union(outside_dns(settings, led))


def outside_dns(settings: Settings, sites: Collection[str]) -> list[str]:
    """The sites that doors lead to and that are in no zone of the settings."""
    led = settings.routing.publishing().sites_led_by_doors(sites)
    zones = frozenset(settings.dns.every_zone)
    return sorted(
        site
        for site in led
        if records_of_partition.zone_of(records_of_partition.name_of(site), zones) is None
    )

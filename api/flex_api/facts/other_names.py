"""Other names of sites: www.a.example and every alias of the settings, with the traffic that comes
by each.

Takes a world or settings, and sites. Returns names. Does not ask DNS where they lead.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from flex.model.period import Period
from flex.model.wish import Pin
from flex.zones import names_not_following_sites, records_of_partition
from flex.zones.names_not_following_sites import Followed, OtherName, Share
from flex_api.settings.file import Settings
from flex_api.wiring import World, site_names, sources
from flex_logs_ingest.counts import names_visited
from flex_logs_ingest.counts.names_visited import Names


def of_sites(settings: Settings, sites: Collection[str]) -> tuple[OtherName, ...]:
    """Where no zone is known they make no difference; nor where doors lead by every name."""
    if not settings.dns.every_zone:
        return ()
    led = settings.routing.publishing().by_doors(sites)
    sites = frozenset(sites) - led
    found = site_names(settings).others(sites, _alone(settings, sites))
    return tuple(OtherName(site, name, looked=False) for site, name in found)


def shares(
    world: World, period: Period, others: Sequence[OtherName]
) -> tuple[OtherName, ...]:
    """The same with what came by each in the period, where that was counted. Raises NoData where
    counts are damaged.
    """
    if not others:
        return ()
    directory = world.settings.ingest.directory
    found = names_visited.count_names(
        world.store, directory, period, {other.site for other in others}
    )
    return tuple(
        replace(other, share=_share(found, other), looked=True) for other in others
    )


def _share(found: Names, other: OtherName) -> Share | None:
    requests, sent = found.by_site.get(other.site, (0, 0))
    if other.site in found.unknown or not requests:
        return None
    by_name, bytes_by_name = found.by_name.get((other.site, other.name), (0, 0))
    return Share(by_name / requests, bytes_by_name / sent if sent else 0.0)


def _alone(settings: Settings, sites: Collection[str]) -> frozenset[str]:
    """Sites that have logs of their own: any of them can where the names of the files say which one
    it is.
    """
    known = sources(settings)
    if any(source.site.pattern for source in known):
        return frozenset(sites)
    return frozenset(source.site.fixed for source in known if source.site.fixed)


def read_other_names(
    world: World, sites: Collection[str], pins: Collection[Pin] = ()
) -> Followed:
    """Where DNS leads their other names now, of those that nobody keeps FLEX away from. Raises a
    DnsError.
    """
    excluded = {pin.site for pin in pins if pin.excluded}
    wanted = sorted(set(sites) - excluded)
    zones = world.settings.dns.every_zone
    others = of_sites(world.settings, wanted)
    if not others:
        return Followed()
    also, target = names_not_following_sites.by_zone(others, zones), world.publisher
    of_zone, _ = records_of_partition.split(
        sorted({other.site for other in others}), zones
    )
    states = {
        zone: target.read(
            zone,
            list(map(records_of_partition.name_of, of_zone[zone])),
            also.get(zone, ()),
        )
        for zone in zones
    }
    return names_not_following_sites.follow(others, states, world.nodes)

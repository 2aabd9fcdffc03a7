"""Other names of sites: www.a.example and every alias of the settings, with the traffic that comes
by each.

Takes a world or settings, and sites. Returns names. Does not ask DNS where they lead.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from flex.model.period import Period
from flex.model.wish import Pin
from flex.planning.dns_survey import look
from flex.zones.names_going_along import pairs_of
from flex.zones.names_not_following import Followed, OtherName, Share
from flex_api.settings.file import Settings
from flex_api.wiring import World, site_names, sources
from flex_logs_ingest.counts import names_visited
from flex_logs_ingest.counts.names_visited import Names
from flex_logs_ingest.scan.site_rules import spelling_in_logs


def list_other_names(settings: Settings, sites: Collection[str]) -> tuple[OtherName, ...]:
    """Where no zone is known they make no difference; nor where doors lead by every name, unless
    DNS is to follow all the same.
    """
    if not settings.dns.every_zone:
        return ()
    sites = frozenset(sites)
    if settings.dns.other_names == "stay":
        sites -= settings.routing.publishing().sites_led_by_doors(sites)
    rule = site_names(settings)
    written = frozenset(map(spelling_in_logs, rule.aliases))
    return tuple(
        OtherName(site, name, looked=False, written=name in written)
        for site, name in rule.others(sites, sites_with_own_logs(settings, sites))
    )


def shares(world: World, period: Period, others: Sequence[OtherName]) -> tuple[OtherName, ...]:
    """The same with what came by each in the period, where that was counted. Raises NoData where
    counts are damaged.
    """
    if not others:
        return ()
    directory = world.settings.ingest.directory
    counts = names_visited.count_names(
        world.store, directory, period, {other.site for other in others}
    )
    return tuple(replace(other, share=_share(counts, other), looked=True) for other in others)


def _share(counts: Names, other: OtherName) -> Share | None:
    requests, sent = counts.by_site.get(other.site, (0, 0))
    if other.site in counts.unknown or not requests:
        return None
    by_name, bytes_by_name = counts.by_name.get((other.site, other.name), (0, 0))
    return Share(by_name / requests, bytes_by_name / sent if sent else 0.0)


def sites_with_own_logs(settings: Settings, sites: Collection[str]) -> frozenset[str]:
    """Sites that have logs of their own: any of them can where the names of the files say which one
    it is.
    """
    known = sources(settings)
    if any(source.site.pattern for source in known):
        return frozenset(sites)
    return frozenset(source.site.fixed for source in known if source.site.fixed)


def read_other_names(world: World, sites: Collection[str], pins: Collection[Pin] = ()) -> Followed:
    """Where DNS leads their other names now, of those that nobody keeps FLEX away from. Raises a
    DnsError.
    """
    excluded = {pin.site for pin in pins if pin.excluded}
    wanted = sorted(set(sites) - excluded)
    dns = world.settings.dns
    known = set(wanted)
    others = [
        other_name
        for other_name in list_other_names(world.settings, wanted)
        if other_name.name not in known
    ]
    if not others:
        return Followed()
    base = world.store.in_force()
    return look(
        world.publisher,
        sorted({other.site for other in others}),
        world.nodes,
        dns.every_zone,
        adopt=dns.adopt,
        others=others,
        publishing=world.settings.routing.publishing(),
        follow=dns.other_names == "follow",
        along=pairs_of(world.store.plan(base).zone_plans) if base else (),
        below_wildcards=world.rules.below_wildcards,
    ).others

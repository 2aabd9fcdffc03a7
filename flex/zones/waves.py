"""The moves of one plan in waves of sites: a few first, then some more, then all others.

Takes a plan for each zone, and the shares of the first waves. Returns the number of the wave for
each name. The order of sites looks random and is always the same: a run that continues a killed one
finds the same waves. Does not change DNS.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from flex.model.zone_plan import Change, ZonePlan
from flex.zones import zone_changes
from flex.zones.marker import marker_name, site_name


def waves(
    zone_plans: Sequence[ZonePlan], shares: Sequence[float], beside: Collection[str] = ()
) -> dict[str, int]:
    """The wave of each name that moves, and of its marker. A change that only adds or only removes
    addresses belongs to the first wave, but that of another name goes with its site. The names
    `beside` move without any change of DNS.

    Each of the first waves has its share of the names that move, and at least one. The last wave
    has the rest.
    """
    zones = {
        change.name: zone_plan.zone
        for zone_plan in zone_plans
        for change in zone_plan.changes
        if _moves(change)
    }
    sites = {
        name: site for zone_plan in zone_plans for name, site in zone_plan.site_of_name.items()
    }
    names = sorted(
        {*(sites.get(name, name) for name in zones), *beside},
        key=lambda name: (zlib.crc32(name.encode()), name),
    )
    wave_numbers: dict[str, int] = {}
    for number, of_wave in enumerate(_parts(names, shares)):
        for name in of_wave:
            wave_numbers[name] = number
            if name in zones:
                wave_numbers[marker_name(name, zones[name])] = number
    return wave_numbers | _waves_of_sites(zone_plans, sites, wave_numbers)


def _waves_of_sites(
    zone_plans: Sequence[ZonePlan], sites: Mapping[str, str], wave_numbers: Mapping[str, int]
) -> dict[str, int]:
    """All changes of sites that move and of their other names, in the wave of the site."""
    more: dict[str, int] = {}
    moving = {site for site in sites.values() if site in wave_numbers}
    for zone_plan in zone_plans if moving else ():
        for change in zone_plan.changes:
            name = site_name(zone_plan.zone, change.name)
            if (site := sites.get(name, name)) in moving:
                more[change.name] = wave_numbers[site]
    return more


def part(zone_plan: ZonePlan, wave_of: Mapping[str, int], number: int) -> ZonePlan:
    """What of the plan belongs to that wave."""
    return replace(
        zone_plan,
        changes=tuple(
            change for change in zone_plan.changes if wave_of.get(change.name, 0) == number
        ),
    )


def _moves(change: Change) -> bool:
    """Whether it has both nodes on its way: it gets addresses, and others go."""
    between = zone_changes.add_new_addresses(ZonePlan("", (change,))).changes
    return bool(change.before) and any(step.after != change.after for step in between)


def _parts(names: Sequence[str], shares: Sequence[float]) -> list[Sequence[str]]:
    cut, parts = 0, list[Sequence[str]]()
    for share in shares:
        until = cut + max(1, math.ceil(share * len(names)))
        parts.append(names[cut:until])
        cut = until
    return [of_wave for of_wave in (*parts, names[cut:]) if of_wave]

"""Names that have no record of their own, and get a CNAME from a wildcard: `*.a.example CNAME
site.example` leads mail.a.example to the site, as long as there is no mail.a.example.

Takes records that point to names, and a way to ask what a name server answers. Returns where such
names lead, so that what leans on them is found. Does not decide whether a name is there: a name
server says that, for any record of any type hides the wildcard.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from itertools import pairwise

from flex.zones.records_of_partition import NameAnswer, zone_of
from flex.zones.what_leans_on_names import MOST_ASKED, PointingRecord, spf_terms, way

# Asks for names of a zone.
Ask = Callable[[str, list[str]], Mapping[str, NameAnswer]]


def wildcard_over(name: str, aliases: Mapping[str, str]) -> str:
    """The owner of the closest wildcard that has a CNAME and could answer for the name; "" where
    there is none.
    """
    parent = name.partition(".")[2]
    while parent:
        if (owner := f"*.{parent}") in aliases:
            return owner
        parent = parent.partition(".")[2]
    return ""


def led_by_wildcards(
    records: Iterable[PointingRecord], names: Set[str], zones: Set[str], ask: Ask
) -> dict[str, str]:
    """By name the one that it leads to next. `names` are there, whatever wildcards say. Nobody is
    asked where there is no wildcard.
    """
    every = tuple(records)
    aliases = {record.owner: record.target for record in every if record.type == "CNAME"}
    if not any(owner.startswith("*.") for owner in aliases):
        return {}
    ends = {way(name, aliases)[-1] for name in set(_pointed_to(every))}
    of_zone: dict[str, list[str]] = {}
    for name in sorted(ends - names):
        zone = zone_of(name, zones)
        if zone and not name.startswith("*.") and wildcard_over(name, aliases):
            of_zone.setdefault(zone, []).append(name)
    next_names: dict[str, str] = {}
    for zone, zone_names in of_zone.items():
        for name, answer in ask(zone, zone_names[:MOST_ASKED]).items():
            next_names |= dict(pairwise((name, *answer.chain)))
    return next_names


def _pointed_to(records: Iterable[PointingRecord]) -> Iterator[str]:
    for record in records:
        if record.target:
            yield record.target
        elif record.type == "SPF":
            yield from (name for _, name in spf_terms(record.text) if name)

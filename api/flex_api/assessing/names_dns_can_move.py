"""Which sites DNS can move, as far as their zones' files show it.

Takes sites with their requests, and zones. Returns how many sites can be moved, which share of the
requests they have, and why others cannot. Asks no name server.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from flex_api.schemas.assess_output import AssessedNames
from flex_dns.zone.read_zone_file import ZoneFile

NO_HOST = "it is no host's name"
IN_NO_ZONE = "it lies in none of these zones"
DELEGATED = "it lies in a zone that another one has given away"
ALIAS = "it is an alias of another name (CNAME)"
WITHOUT_ADDRESS = "its name has records and no address"


def names_dns_can_move(requests: Mapping[str, int], zones: Sequence[ZoneFile]) -> AssessedNames:
    """FLEX gives addresses to names that have some, and to names that are not there yet."""
    why = {site: _why_not(f"{site}.", zones) for site in requests}
    movable = [site for site, reason in why.items() if not reason]
    every = sum(requests.values())
    return AssessedNames(
        sites=len(requests),
        movable=len(movable),
        movable_requests_ratio=sum(requests[site] for site in movable) / every if every else 0.0,
        why_not=dict(Counter(reason for reason in why.values() if reason)),
    )


def _why_not(name: str, zones: Sequence[ZoneFile]) -> str:
    """Empty where DNS can move it. The nearest zone above a name is the one that has it."""
    if "/" in name or "." not in name[:-1]:
        return NO_HOST
    above = [zone for zone in zones if name == zone.zone or name.endswith(f".{zone.zone}")]
    if not above:
        return IN_NO_ZONE
    zone = max(above, key=lambda one: len(one.zone))
    if any("NS" in zone.types.get(up, ()) for up in _up_to(name, zone.zone)):
        return DELEGATED
    types = zone.types.get(name, frozenset())
    if "CNAME" in types:
        return ALIAS
    if types and not types & {"A", "AAAA"}:
        return WITHOUT_ADDRESS
    return ""


def _up_to(name: str, zone: str) -> list[str]:
    """The name and those above it, below the zone."""
    found = []
    while name != zone and name.endswith(f".{zone}"):
        found.append(name)
        name = name.partition(".")[2]
    return found

"""Plans of new names, each with its marker, and how many of them a target has."""

from __future__ import annotations

from flex.model.zone_plan import Change, Rrset, ZonePlan
from flex.zones.marker import marker_name, marker_text
from flex_dns.rfc2136 import Rfc2136Publisher

OWNER = "flex-eu1"


def placed(zone: str, name: str, *values: str, owner: str = OWNER) -> tuple[Change, Change]:
    return Change(None, Rrset(name, "A", 60, values)), marking(zone, name, owner)


def marking(zone: str, name: str, owner: str = OWNER) -> Change:
    return Change(None, Rrset(marker_name(name, zone), "TXT", 60, (marker_text(owner),)))


def adopted(zone: str, name: str, before: str, after: str) -> tuple[Change, Change]:
    """A name that had an address and no marker."""
    return Change(Rrset(name, "A", 60, (before,)), Rrset(name, "A", 60, (after,))), marking(
        zone, name
    )


def many(zone: str, count: int) -> ZonePlan:
    return ZonePlan(
        zone,
        tuple(change for n in range(count) for change in placed(zone, f"s{n}.{zone}", "192.0.2.1")),
    )


def owned(target: Rfc2136Publisher, zone: str, count: int) -> int:
    return len(target.read(zone, [f"s{n}.{zone}" for n in range(count)]).owned)

"""What FLEX would send to a name server, as text for other tools: for operators who hand out no
key.

Takes plans and what each zone should say (RECORDS, our markers among them). Returns one text.
nsupdate gets the changes and what they require. The other tools get all of our records, with the
earlier records of names that become ours as comments. Does not send anything. A new format is one
function and one line in EXPORTS.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pandas as pd

from flex.model.zone_plan import Change, Rrset, ZonePlan
from flex.zones.address_hints import HINTED
from flex.zones.marker import marker_name, marker_text, site_name
from flex.zones.records_of_partition import sets_by_name
from flex.zones.zone_changes import lines
from flex_dns.update import change_messages, fence
from flex_dns.zone import change_states

if TYPE_CHECKING:
    from flex_dns.update.change_messages import Claim, Message
    from flex_dns.wire.messages import RequiredSet

# What a message may require, as text, which takes more bytes than the message itself. With what it
# changes it stays below the 64 KiB of a message over TCP (RFC 1035, section 4.2.2).
PREREQUISITE_BYTES = 24 * 1024


@dataclass(frozen=True, slots=True, eq=False)
class ZoneToExport:
    """One zone: what would change in it, and all that FLEX says in it then.

    What would change requires the `claim`; a zone that `is_free` of any controller becomes ours
    first.
    """

    zone_plan: ZonePlan
    sets: tuple[Rrset, ...]
    claim: Claim = field(default_factory=lambda: change_messages.NOBODY)
    is_free: bool = False


Export = Callable[[Sequence[ZoneToExport]], str]


def wanted_zone(zone_plan: ZonePlan, records: pd.DataFrame, claim: Claim, ttl: int) -> ZoneToExport:
    sets = [
        Rrset(name, kind, *record_set)  # type: ignore[arg-type]  # RECORDS hold no other types
        for (name, kind), record_set in sets_by_name(records).items()
    ]
    names = sorted({rrset.name for rrset in sets})
    markers = [
        Rrset(marker_name(name, zone_plan.zone), "TXT", ttl, (marker_text(claim.owner),))
        for name in names
    ]
    return ZoneToExport(zone_plan, (*sets, *markers), claim)


def zone_lines(zones: Sequence[ZoneToExport]) -> str:
    """For a zone file or an $INCLUDE of it; what changes stands above as a comment."""
    return "".join(line + "\n" for zone in zones for line in _zone_lines(zone))


def _zone_lines(zone: ZoneToExport) -> Iterator[str]:
    yield f"; {zone.zone_plan.zone}"
    yield from (f"; {line}" for change in zone.zone_plan.changes for line in lines(change))
    yield from (f"; {line}" for line in _what_to_look_for(zone))
    for rrset in zone.sets:
        yield from (
            f"{rrset.name} {rrset.ttl} IN {rrset.type} {_value(rrset, value)}"
            for value in rrset.values
        )


def _what_to_look_for(zone: ZoneToExport) -> Iterator[str]:
    """What the names that become ours had when the plan was made. These tools cannot require it, so
    people look.
    """
    for change in zone.zone_plan.changes:
        if change.beside is not None:
            name = site_name(zone.zone_plan.zone, change.name)
            held = [f"{rrset.ttl} {rrset.type} {' '.join(rrset.values)}" for rrset in change.beside]
            yield (
                f"{name} becomes ours: write this only while it has "
                f"{' and '.join(held) or 'no address'}"
            )


def _hints_to_change(zone: ZoneToExport) -> Iterator[str]:
    """In records that are not FLEX's to write out."""
    for change in zone.zone_plan.changes:
        if change.type in HINTED and change.after:
            for value in change.after.values:
                yield (
                    f"{change.name} has hints, which change with its addresses: "
                    f"{change.after.ttl} {change.type} {value}"
                )


def nsupdate(zones: Sequence[ZoneToExport]) -> str:
    """A script: `nsupdate -k KEY FILE`. A message whose records somebody changed meanwhile is
    refused whole.
    """
    return "".join(line + "\n" for zone in zones for line in _script(zone))


def _script(wanted: ZoneToExport) -> Iterator[str]:
    zone_plan, claim = wanted.zone_plan, wanted.claim
    if zone_plan.changes and claim.controller and wanted.is_free:
        yield from _taking(zone_plan.zone, claim.controller)
    for message in change_messages.messages(
        zone_plan.zone, zone_plan.changes, claim=claim, sites=zone_plan.site_of_name
    ):
        yield from _message_lines(message)


def _message_lines(message: Message) -> Iterator[str]:
    """One message, or several where all that it requires would make it too long."""
    zone, changes = message.zone, message.changes
    required = [
        *_claim_lines(zone, changes, message.claim),
        *(line for change in changes for line in _prerequisite_lines(change)),
        *(
            line
            for required_set in change_messages.sets_to_keep(zone, changes)
            for line in _keep_lines(required_set)
        ),
        *_reach_lines(zone, changes),
    ]
    parts = (
        change_messages.halves(message)
        if sum(len(line.encode()) for line in required) > PREREQUISITE_BYTES
        else ()
    )
    for part in parts:
        yield from _message_lines(part)
    if parts:
        return
    yield f"zone {zone}"
    # Two changes can require the same.
    yield from dict.fromkeys(required)
    for change in changes:
        yield from _update_lines(change)
    yield "send"


def _reach_lines(zone: str, changes: Sequence[Change]) -> Iterator[str]:
    """That what we write is seen: nothing above it in the zone is delegated or redirected, and no
    marker is an alias.

    `flex apply` reads the zone for this before it sends. A script is sent later, by somebody else.
    """
    names = [change.name for change in changes if change.after]
    sites = dict.fromkeys(
        site_name(zone, name) for name in names if change_states.lies_in(zone, name)
    )
    markers = [marker_name(site, zone) for site in sites]
    for marker in markers:
        yield f"prereq nxrrset {marker} IN CNAME"
    above = (up for name in (*sites, *markers) for up in _names_between(name, zone))
    for name in dict.fromkeys(above):
        yield f"prereq nxrrset {name} IN NS"
        yield f"prereq nxrrset {name} IN DNAME"
    for name in (*sites, *markers):
        if name != zone:
            yield f"prereq nxrrset {name} IN NS"


def _names_between(name: str, zone: str) -> Iterator[str]:
    """The names above it that lie below the zone's own."""
    up = name.partition(".")[2]
    while up != zone and up.endswith(f".{zone}"):
        yield up
        up = up.partition(".")[2]


def _taking(zone: str, controller: str) -> Iterator[str]:
    name, text = fence.fence_name(zone), fence.fence_text(controller)
    yield f"zone {zone}"
    yield f"prereq nxrrset {name} IN TXT"
    yield f"update add {name} {fence.TTL} TXT {_quote(text)}"
    yield "send"


def _claim_lines(zone: str, changes: Sequence[Change], claim: Claim) -> Iterator[str]:
    if claim.controller:
        yield (
            f"prereq yxrrset {fence.fence_name(zone)} IN TXT "
            f"{_quote(fence.fence_text(claim.holder(zone)))}"
        )
    for name in change_messages.names_to_mark(zone, changes) if claim.owner else ():
        yield f"prereq yxrrset {marker_name(name, zone)} IN TXT {_quote(marker_text(claim.owner))}"


def _prerequisite_lines(change: Change) -> Iterator[str]:
    if change.before:
        for value in change.before.values:
            yield f"prereq yxrrset {change.name} IN {change.type} {_value(change.before, value)}"
        return
    yield f"prereq nxrrset {change.name} IN {change.type}"
    if change.type != "TXT" and change.after:
        yield f"prereq nxrrset {change.name} IN CNAME"


def _keep_lines(required_set: RequiredSet) -> Iterator[str]:
    for value in required_set.values:
        yield f"prereq yxrrset {required_set.name} IN {required_set.kind} {value}"
    if not required_set.values:
        yield f"prereq nxrrset {required_set.name} IN {required_set.kind}"


def _update_lines(change: Change) -> Iterator[str]:
    yield f"update delete {change.name} {change.type}"
    for value in change.after.values if change.after else ():
        assert change.after is not None, "it has values"
        yield (
            f"update add {change.name} {change.after.ttl} {change.type} "
            f"{_value(change.after, value)}"
        )


def octodns(zones: Sequence[ZoneToExport]) -> str:
    """YAML of octoDNS, a document for each zone. JSON's strings are YAML's, too."""
    return "".join(line + "\n" for zone in zones for line in _octodns(zone))


def _octodns(zone: ZoneToExport) -> Iterator[str]:
    yield "---"
    yield f"# {zone.zone_plan.zone}"
    yield from (f"# {line}" for line in _what_to_look_for(zone))
    yield from (f"# {line}" for line in _hints_to_change(zone))
    of_name: dict[str, list[Rrset]] = {}
    for rrset in zone.sets:
        of_name.setdefault(_relative_name(zone, rrset, ""), []).append(rrset)
    # octoDNS refuses keys that stand in another order.
    for name in sorted(of_name, key=_natural):
        yield f"{json.dumps(name)}:"
        for rrset in of_name[name]:
            yield f"  - ttl: {rrset.ttl}"
            yield f"    type: {rrset.type}"
            yield "    values:"
            yield from (f"      - {json.dumps(value)}" for value in rrset.values)


def _natural(name: str) -> list[tuple[bool, int, str]]:
    """site2 before site10: digits go by their number, and before other letters."""
    parts = re.findall(r"\d+|\D+", name)
    return [(False, int(part), "") if part.isdigit() else (True, 0, part) for part in parts]


def dnscontrol(zones: Sequence[ZoneToExport]) -> str:
    """For dnsconfig.js of DNSControl: what is to be added to the domains that stand there."""
    return "".join(line + "\n" for zone in zones for line in _dnscontrol(zone))


def _dnscontrol(zone: ZoneToExport) -> Iterator[str]:
    records = [
        f"  {rrset.type}({json.dumps(_relative_name(zone, rrset, '@'))}, {json.dumps(value)}, "
        f"TTL({rrset.ttl}))"
        for rrset in zone.sets
        for value in rrset.values
    ]
    yield from (f"// {line}" for line in _what_to_look_for(zone))
    yield from (f"// {line}" for line in _hints_to_change(zone))
    yield f"D_EXTEND({json.dumps(zone.zone_plan.zone.rstrip('.'))},"
    yield ",\n".join(records)
    yield ");"


def hosts(zones: Sequence[ZoneToExport]) -> str:
    """For /etc/hosts: to try a partition from one machine before anybody else sees it."""
    rows = [
        f"{value} {rrset.name.rstrip('.')}\n"
        for zone in zones
        for rrset in zone.sets
        if rrset.type != "TXT"
        for value in rrset.values
    ]
    return "".join(rows)


def _relative_name(zone: ZoneToExport, rrset: Rrset, apex: str) -> str:
    """The name as seen from the zone."""
    return (
        apex
        if rrset.name == zone.zone_plan.zone
        else rrset.name.removesuffix(f".{zone.zone_plan.zone}")
    )


def _value(rrset: Rrset, value: str) -> str:
    return _quote(value) if rrset.type == "TXT" else value


def _quote(value: str) -> str:
    escaped = value.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


# What the file of a zone is called for, where its tool wants another ending than the format's name.
ENDINGS: Mapping[str, str] = {"octodns": "yaml", "dnscontrol": "js"}

EXPORTS: Mapping[str, Export] = {
    "zone": zone_lines,
    "nsupdate": nsupdate,
    "octodns": octodns,
    "dnscontrol": dnscontrol,
    "hosts": hosts,
}

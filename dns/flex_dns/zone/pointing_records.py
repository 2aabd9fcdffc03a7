"""Which records of a zone may lean on names that FLEX moves, out of all that a transfer brought.

Takes records that point to names as they were noted, the aliases of the zone, and what is looked
for. Returns those that lead to a name of a site, or to another zone of ours, where its own records
say on. Does not say what leans on what: flex/zones/what_leans_on_names.py does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from struct import unpack

from flex.zones.records_of_partition import zone_of
from flex.zones.what_leans_on_names import (
    Kind,
    Pointed,
    PointingRecord,
    points_to_names,
    way,
)
from flex_dns.wire.sets_from_transferred_records import CAA, MX, NS, SRV, TXT, Noted

# Their numbers are before the name in the record's data (RFC 1035, RFC 2782).
NUMBERS: dict[int, tuple[Kind, str]] = {
    MX: ("MX", "!H"),
    SRV: ("SRV", "!HHH"),
    NS: ("NS", ""),
}


def pointing_records(
    zone: str, noted: Iterable[Noted], aliases: Mapping[str, str], pointed: Pointed
) -> tuple[PointingRecord, ...]:
    leads = _leading(zone, aliases, pointed)
    found = [
        PointingRecord(owner, "CNAME", target, target)
        for owner, target in aliases.items()
        if leads(target)
    ]
    found.extend(_records(noted, leads))
    return tuple(found)


def _leading(
    zone: str, aliases: Mapping[str, str], pointed: Pointed
) -> Callable[[str], bool]:
    """Whether a name leads to a site, or to where another zone of ours has to be asked."""

    known: dict[str, bool] = {}

    def leads(target: str) -> bool:
        if target in pointed.names:
            return True
        if target not in known:
            steps = way(target, aliases)
            known[target] = not pointed.names.isdisjoint(steps) or zone_of(
                steps[-1], pointed.zones
            ) not in (None, zone)
        return known[target]

    return leads


def _records(
    noted: Iterable[Noted], leads: Callable[[str], bool]
) -> Iterator[PointingRecord]:
    # Thousands of names have one text: it is made and kept once.
    texts: dict[bytes, str] = {}
    for owner, kind, data, target in noted:
        if kind == TXT:
            if data not in texts:
                texts[data] = _policy(data)
            if texts[data]:
                yield PointingRecord(owner, "SPF", texts[data])
        elif kind == CAA:
            yield PointingRecord(owner, "CAA", _certificates(data))
        elif leads(target):
            name, numbers = NUMBERS[kind]
            text = " ".join([*map(str, unpack(numbers, data)), target])
            yield PointingRecord(owner, name, text, target)


def _policy(data: bytes) -> str:
    """The strings of a TXT record in a row, "" where they are no policy that names depend on."""
    strings, at = [], 0
    while at < len(data):
        strings.append(data[at + 1 : at + 1 + data[at]])
        at += 1 + data[at]
    text = b"".join(strings).decode(errors="replace")
    return text if points_to_names(text) else ""


def _certificates(data: bytes) -> str:
    """As a zone file has it (RFC 8659): the flags, the tag, the value."""
    flags, size = (data[0], data[1]) if len(data) > 1 else (0, 0)
    tag, value = data[2 : 2 + size], data[2 + size :]
    said = value.decode(errors="replace").replace("\\", "\\\\").replace('"', '\\"')
    return f'{flags} {tag.decode(errors="replace")} "{said}"'

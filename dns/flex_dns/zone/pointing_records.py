"""Which records of a zone may lean on names that FLEX moves, out of all that a transfer brought.

Takes records that point to names as they were noted, the aliases of the zone, and what is looked
for. Returns those that lead to a name of a site, or to another zone of ours, where its own records
say on. Does not say what leans on what: flex/zones/what_leans_on_names.py does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from struct import error, unpack, unpack_from

import dns.exception
import dns.name
import dns.rdata
import dns.rdataclass
from dns.rdatatype import RdataType
from dns.rdtypes.svcbbase import ParamKey

from flex.zones.names_led_by_wildcards import wildcard_over
from flex.zones.records_of_partition import zone_of
from flex.zones.what_leans_on_names import (
    Kind,
    Pointed,
    PointingRecord,
    lets_somebody_send,
    mail_without_mx,
    points_to_names,
    way,
)
from flex_dns.wire.transferred_sets import CAA, HTTPS, MX, NS, SRV, SVCB, TXT, Noted

# Their numbers are before the name in the record's data (RFC 1035, RFC 2782).
NUMBERS: dict[int, tuple[Kind, str]] = {MX: ("MX", "!H"), SRV: ("SRV", "!HHH"), NS: ("NS", "")}
# What is said of a record whose data is none of its type. It may have hints.
UNREAD = "that cannot be read"
HINTS = (ParamKey.IPV4HINT, ParamKey.IPV6HINT)
WITH_HINTS: dict[int, Kind] = {SVCB: "SVCB", HTTPS: "HTTPS"}


def pointing_records(
    zone: str, noted: Iterable[Noted], aliases: Mapping[str, str], pointed: Pointed
) -> tuple[PointingRecord, ...]:
    leads = _leading(zone, aliases, pointed)
    records = [
        PointingRecord(owner, "CNAME", target, target)
        for owner, target in aliases.items()
        if leads(target)
    ]
    every = tuple(noted)
    records.extend(_records(every, leads))
    records.extend(_find_senders_without_mx(every, pointed))
    return tuple(records)


def _find_senders_without_mx(noted: Iterable[Noted], pointed: Pointed) -> Iterator[PointingRecord]:
    """Names that let hosts send mail, and have no mail server of their own."""
    policies: dict[str, bytes] = {}
    with_mx = set[str]()
    for owner, kind, data, _ in noted:
        if kind == MX:
            with_mx.add(owner)
        elif kind == TXT and owner in pointed.names:
            policies.setdefault(owner, data)
    for owner, data in policies.items():
        if owner not in with_mx and lets_somebody_send(text := _text(data)):
            yield mail_without_mx(owner, text)


def _leading(zone: str, aliases: Mapping[str, str], pointed: Pointed) -> Callable[[str], bool]:
    """Whether a name leads to a site, or to where another zone of ours has to be asked; or may do
    so by a wildcard, where nobody knows yet whether the name is there.
    """

    known: dict[str, bool] = {}
    has_wildcards = any(owner.startswith("*.") for owner in aliases)

    def leads(target: str) -> bool:
        if target in pointed.names:
            return True
        if target not in known:
            # Wildcards may lead to each other in a circle.
            known[target] = False
            steps = way(target, aliases)
            known[target] = (
                not pointed.names.isdisjoint(steps)
                or zone_of(steps[-1], pointed.zones) not in (None, zone)
                or (has_wildcards and leads_by_wildcard(steps[-1]))
            )
        return known[target]

    def leads_by_wildcard(name: str) -> bool:
        owner = wildcard_over(name, aliases)
        return bool(owner) and leads(aliases[owner])

    return leads


def _records(noted: Iterable[Noted], leads: Callable[[str], bool]) -> Iterator[PointingRecord]:
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
        elif kind in WITH_HINTS:
            about = owner if target == "." else target
            if leads(about) and (text := _hints(kind, data)):
                yield PointingRecord(owner, WITH_HINTS[kind], text, about)
        elif leads(target):
            name, numbers = NUMBERS[kind]
            text = " ".join([*map(str, unpack(numbers, data)), target])
            yield PointingRecord(owner, name, text, target)


def _hints(kind: int, data: bytes) -> str:
    """The record as a zone file has it, where clients are told addresses by it."""
    if not has_hints(data):
        return ""
    try:
        rdata = dns.rdata.from_wire(dns.rdataclass.IN, RdataType(kind), data, 0, len(data))
    except dns.exception.DNSException:
        return UNREAD
    return rdata.to_text()


def has_hints(data: bytes) -> bool:
    """Whether the data of an HTTPS or SVCB record hold addresses. In its alias form, parameters do
    not count (RFC 9460). What is cut off may have had some.
    """
    if not any(data[:2]):
        return False
    at, size = 2, len(data)
    try:
        while length := data[at]:
            at += 1 + length
        at += 1
        while at < size:
            key, length = unpack_from("!HH", data, at)
            if key in HINTS:
                return True
            at += 4 + length
    except (IndexError, error):
        return True
    return at > size


def _policy(data: bytes) -> str:
    """The strings of a TXT record in a row, "" where they are no policy that names depend on."""
    text = _text(data)
    return text if points_to_names(text) else ""


def _text(data: bytes) -> str:
    strings, at = [], 0
    while at < len(data):
        strings.append(data[at + 1 : at + 1 + data[at]])
        at += 1 + data[at]
    return b"".join(strings).decode(errors="replace")


def _certificates(data: bytes) -> str:
    """As a zone file has it (RFC 8659): the flags, the tag, the value."""
    flags, size = (data[0], data[1]) if len(data) > 1 else (0, 0)
    tag, value = data[2 : 2 + size], data[2 + size :]
    escaped = value.decode(errors="replace").replace("\\", "\\\\").replace('"', '\\"')
    return f'{flags} {tag.decode(errors="replace")} "{escaped}"'

"""Changes as bytes, where an object for each record would cost more than the name server's own
work.

Takes changes of one zone. Returns the unsigned body of an RFC 2136 message with the id 0, the same
bytes that dnspython would make. Does not handle names and values that are not plain: dnspython
does, and says what is wrong with them.
"""

from __future__ import annotations

import socket
import struct
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Literal, NamedTuple

import dns.exception
import dns.name

from flex import native_or_python
from flex.model.zone_plan import Change, RecordType, Rrset
from flex.zones.address_hints import HINTED
from flex.zones.marker import LABEL, marker_name
from flex_dns.wire.https_and_svcb import data_of_text
from flex_dns.wire.read_names_in_messages import HEADER

# Numbers of record types (RFC 1035, RFC 3596, RFC 9460).
TYPES: Mapping[RecordType, int] = {"A": 1, "AAAA": 28, "TXT": 16, "SVCB": 64, "HTTPS": 65}
# The same, of types that a message only asks about.
NS = 2
CNAME = 5
SOA = 6
# Classes (RFC 1035; their meaning in an update is in RFC 2136, section 2).
IN = 1
NONE = 254
ANY = 255
# The flags of an UPDATE: its opcode, 5 (RFC 2136).
FLAGS = 5 << 11
# A pointer to the zone's name, which stands at the same place in each message. Every owner in the
# zone ends in it.
ZONE_AT = b"\xc0\x0c"
# What the owner of a marker ends in. Where a message has it already, a pointer to there will do.
MARKS = bytes((len(LABEL),)) + LABEL.encode() + ZONE_AT
# The two bits that mark a pointer to a name (RFC 1035, section 4.1.4).
POINTER = 0xC000
# Bytes behind the zone's name: its type and class.
ZONE_CLASS = 4
# Bytes of a record behind its owner: type, class, TTL, length of the data.
RECORD = 10
# Bytes of the length before a record's data.
LENGTH = 2
# Bytes of a label (RFC 1035).
LONGEST_LABEL = 63
# Characters of a name as text, with a dot behind each label: 255 bytes in a message (RFC 1035).
LONGEST_NAME = 254

_LENGTH = tuple(bytes((length,)) for length in range(LONGEST_LABEL + 1))
_EQUAL = {kind: struct.pack("!HHI", number, IN, 0) for kind, number in TYPES.items()}
_ABSENT = {kind: struct.pack("!HHIH", number, NONE, 0, 0) for kind, number in TYPES.items()}
_DELETE = {kind: struct.pack("!HHIH", number, ANY, 0, 0) for kind, number in TYPES.items()}
_NONE = {
    "A": _ABSENT["A"],
    "AAAA": _ABSENT["AAAA"],
    "CNAME": struct.pack("!HHIH", CNAME, NONE, 0, 0),
    "NS": struct.pack("!HHIH", NS, NONE, 0, 0),
}
# Bytes of a value; 0 where they differ.
_VALUE: Mapping[RecordType, int] = {"A": 4, "AAAA": 16, "TXT": 0, "SVCB": 0, "HTTPS": 0}
_NO_ALIAS = _NONE["CNAME"]


class Unfit(ValueError):
    """A value of ours that no record can hold."""


class MessagePart(NamedTuple):
    """What changes add to a message: prerequisites and updates, and how many of each."""

    required: bytes
    requirements: int
    made: bytes
    makings: int


class RequiredSet(NamedTuple):
    """A record set that has to be there, with these values and no others; without values there has
    to be none.
    """

    name: str
    kind: RecordType | Literal["CNAME", "NS"]
    values: tuple[str, ...] = ()


def part(zone: str, change: Change) -> MessagePart:
    """`before` as what must be so, value by value and without a TTL; `after` as what is put in its
    place.
    """
    owner = owner_bytes(zone, change.name)
    required, requirements = _spell_prerequisite(owner, change)
    change_bytes, makings = _spell_change(owner, change)
    return MessagePart(required, requirements, change_bytes, makings)


def reference_parts(zone: str, changes: Sequence[Change]) -> MessagePart:
    """All of them together."""
    every = [part(zone, change) for change in changes]
    return MessagePart(
        b"".join([message_part.required for message_part in every]),
        sum([message_part.requirements for message_part in every]),
        b"".join([message_part.made for message_part in every]),
        sum([message_part.makings for message_part in every]),
    )


_parts = native_or_python.pick("parts", reference_parts)


def parts(zone: str, changes: Sequence[Change]) -> MessagePart:
    return MessagePart(*_parts(zone, changes))


def require_text(zone: str, name: str, text: str) -> MessagePart:
    """That this TXT record is there, and no other beside it; nothing is to change."""
    return MessagePart(
        owner_bytes(zone, name) + _EQUAL["TXT"] + rdata_bytes("TXT", text), 1, b"", 0
    )


def require_markers(zone: str, names: Sequence[str], text: str, first: str = "") -> MessagePart:
    """The same of the marker of each of these names of the zone.

    `first` is the label of the message's first prerequisite, where that stands among the markers:
    what they all end in is spelled out there.
    """
    at = POINTER | HEADER + len(name_bytes(zone)) + ZONE_CLASS + 1 + len(first)
    marks = struct.pack("!H", at) if first else MARKS
    tail = _EQUAL["TXT"] + rdata_bytes("TXT", text)
    return MessagePart(
        b"".join([_marker(zone, name, marks) + tail for name in names]), len(names), b"", 0
    )


def require_kept(zone: str, sets: Sequence[RequiredSet]) -> MessagePart:
    """That these sets are there, or not there; nothing is to change."""
    records: list[bytes] = []
    for name, kind, values in sets:
        owner = owner_bytes(zone, name)
        if kind in ("A", "AAAA"):
            records += [owner + _EQUAL[kind] + rdata_bytes(kind, value) for value in values]
        if not values:
            records.append(owner + _NONE[kind])
    return MessagePart(b"".join(records), len(records), b"", 0)


def kept_size(zone: str, required_set: RequiredSet) -> int:
    """How many bytes that takes."""
    data = (4 if required_set.kind == "A" else 16) * len(required_set.values)
    return (
        max(1, len(required_set.values)) * (len(owner_bytes(zone, required_set.name)) + RECORD)
        + data
    )


def _marker(zone: str, name: str, marks: bytes) -> bytes:
    owner = owner_bytes(zone, name)
    return (
        owner[: -len(ZONE_AT)] + marks
        if owner.endswith(ZONE_AT)
        else name_bytes(marker_name(name, zone))
    )


def mark_size(zone: str, text: str) -> int:
    """How many bytes the requirement of a marker takes at most, beside its name."""
    return len(MARKS) - len(zone) + RECORD + len(text.encode()) + 1


def part_size(zone: str, change: Change) -> int:
    """How many bytes a change of a name in the zone takes, without making them."""
    before, after, either = change.before, change.after, change.either
    name, kind = either.name, either.type
    owner = 2 if name == zone else len(name) - len(zone) + len(ZONE_AT)
    values = before.values + after.values if before and after else either.values
    records = len(values) + (1 if before or kind == "TXT" else 2)
    if kind in HINTED:
        data = sum([len(rdata_bytes(kind, value)) - LENGTH for value in values])
    else:
        data = _VALUE[kind] * len(values) or sum([len(value.encode()) + 1 for value in values])
    return records * (owner + RECORD) + data


def body(zone: str, parts: Sequence[MessagePart]) -> bytes:
    requirements = sum(part.requirements for part in parts)
    makings = sum(part.makings for part in parts)
    return b"".join(
        (
            struct.pack("!HHHHHH", 0, FLAGS, 1, requirements, makings, 0),
            name_bytes(zone),
            struct.pack("!HH", SOA, IN),
            *(part.required for part in parts),
            *(part.made for part in parts),
        )
    )


@lru_cache(maxsize=4096)
def name_bytes(name: str) -> bytes:
    """An absolute name, uncompressed."""
    plain = _labels(name[:-1]) if name.endswith(".") and len(name) <= LONGEST_NAME else None
    if plain is None:
        whole = dns.name.from_text(name).to_wire()
        assert whole is not None, "without a file it gives the bytes back"
        return whole
    return plain + b"\0"


@lru_cache(maxsize=4096)
def owner_bytes(zone: str, name: str) -> bytes:
    """A record's owner; what lies outside of the zone is spelled out, for the server to say so."""
    if name == zone:
        return ZONE_AT
    if name.endswith(f".{zone}") and len(name) <= LONGEST_NAME:
        below = _labels(name[: -len(zone) - 1])
        if below is not None:
            return below + ZONE_AT
    return name_bytes(name)


def _labels(text: str) -> bytes | None:
    """None where a label is none that can be copied as it is."""
    if not text.isascii() or "\\" in text:
        return None
    labels = text.encode("ascii").split(b".")
    try:
        return b"".join([_LENGTH[len(label)] + label for label in labels]) if all(labels) else None
    except IndexError:
        return None


@lru_cache(maxsize=4096)
def rdata_bytes(kind: RecordType, value: str) -> bytes:
    """A value with its length. A cluster has few addresses and one marker: each is made once."""
    if kind == "TXT":
        text = value.encode()
        if len(text) > 255:
            raise Unfit(f"{value!r} is too long for one string")
        return struct.pack("!HB", len(text) + 1, len(text)) + text
    if kind in HINTED:
        try:
            data = data_of_text(kind, value)
        except dns.exception.DNSException:
            raise Unfit(f"{value!r} is no record of type {kind}") from None
        return struct.pack("!H", len(data)) + data
    family = socket.AF_INET if kind == "A" else socket.AF_INET6
    try:
        address = socket.inet_pton(family, value)
    except OSError:
        raise Unfit(f"{value!r} is no address of type {kind}") from None
    return struct.pack("!H", len(address)) + address


def _spell_prerequisite(owner: bytes, change: Change) -> tuple[bytes, int]:
    if change.before:
        head = owner + _EQUAL[change.type]
        return b"".join([head + rdata for rdata in _values(change.before)]), len(
            change.before.values
        )
    if change.type == "TXT" or not change.after:
        return owner + _ABSENT[change.type], 1
    # BIND accepts an address beside a CNAME, says NOERROR and stores nothing.
    return owner + _ABSENT[change.type] + owner + _NO_ALIAS, 2


def _spell_change(owner: bytes, change: Change) -> tuple[bytes, int]:
    away = owner + _DELETE[change.type] if change.before else b""
    if not change.after:
        return (away or owner + _DELETE[change.type]), 1
    head = owner + struct.pack("!HHI", TYPES[change.type], IN, change.after.ttl)
    come = b"".join([head + rdata for rdata in _values(change.after)])
    return away + come, bool(away) + len(change.after.values)


def _values(rrset: Rrset) -> list[bytes]:
    return [rdata_bytes(rrset.type, value) for value in rrset.values]

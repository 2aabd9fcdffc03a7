"""Record sets of the names that are wanted, record by record as a transfer brings them.

Takes the bytes of a message. Puts sets on a Shelf, and beside them, where that is wanted, records
that point to other names. Does not look at records that say something about the zone or about what
a name can hold: transfer.py does.
"""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Iterable
from struct import Struct, unpack_from

from flex import native_or_python
from flex_dns.wire.https_and_svcb import text_of_data
from flex_dns.wire.read_names_in_messages import name_at
from flex_dns.wire.zone_contents import SPLIT, Question

# Numbers of record types (RFC 1035, RFC 2782, RFC 3596, RFC 6672, RFC 8659, RFC 9460).
A = 1
NS = 2
CNAME = 5
SOA = 6
MX = 15
TXT = 16
AAAA = 28
SRV = 33
DNAME = 39
SVCB = 64
HTTPS = 65
CAA = 257
KINDS = {A: "A", AAAA: "AAAA", TXT: "TXT"}
# The same, where somebody asks for records with hints, too.
KINDS_WITH_HINTS = {**KINDS, SVCB: "SVCB", HTTPS: "HTTPS"}
# Types at which the loop stops: its caller looks at them (zone/transfer.py).
NOTED = frozenset((SOA, NS, DNAME))

# Values of one set that are remembered as one. So many are usual; all sets that a hostile zone can
# hold would take too much memory. A guess.
MOST_SHARED = 16

# Where the name begins in the data of a record that points to one.
POINTING = {MX: 2, SRV: 6}
# The same, where all of the data matters.
WITH_HINTS = {SVCB: 2, HTTPS: 2}
# What a TXT record begins with that says who may send mail (RFC 7208), behind its first length.
SPF = b"v=spf1"

# A record that points to a name, or says something of what names depend on: its owner, its type,
# its data up to the name, or all of it, and the name.
Noted = tuple[str, int, bytes, str]

# TTL and values in order.
Set = tuple[int, tuple[str, ...]]

# What stands behind a record's owner: type, class, TTL, length of the data.
_FIXED = Struct("!HHIH").unpack_from


class Shelf:
    """The `sets` of the wanted `names`; of HTTPS and SVCB with `hints` alone. Each name and each
    value is kept once, however many records have it. `aliases` are the targets of those that are
    aliases. `pointing` are records of any name that point to one, and `every_alias` the targets of
    all aliases: None where nobody wants them.
    """

    def __init__(
        self, names: Iterable[str], *, pointing: bool = False, hints: bool = False
    ) -> None:
        every = list(names)
        self.names = dict(zip(every, every, strict=True))
        self.hints = hints
        self.sets: dict[Question, Set] = {}
        # By type, TTL and data, and two of them as one: a cluster has few.
        self.values: dict[bytes, Set] = {}
        self.unions: dict[tuple[Set, Set], Set] = {}
        self.aliases: dict[str, str] = {}
        self.every_alias: dict[str, str] | None = {} if pointing else None
        self.pointing: list[Noted] | None = [] if pointing else None

    def keep(self, key: Question, record: bytes) -> None:
        """The record is from its type on."""
        if (value := self.values.get(record)) is None:
            kind, ttl = unpack_from("!H2xI", record)
            value = self.values[record] = ttl, (_text(kind, record[10:]),)
        if (others := self.sets.setdefault(key, value)) is not value:
            self.sets[key] = self._union(others, value)

    def note_alias(self, name: str, target: str) -> None:
        if name in self.names:
            self.aliases[name] = target
        if self.every_alias is not None:
            # Many lead to one: its text is kept once.
            self.every_alias[name] = self.names.get(target, target)

    def _union(self, others: Set, value: Set) -> Set:
        """With the TTL of the later one."""
        if (union := self.unions.get((others, value))) is not None:
            return union
        union = value[0], tuple(sorted({*others[1], *value[1]}))
        if len(union[1]) <= MOST_SHARED:
            self.unions[others, value] = union
        return union


def reference_shelve(
    wire: bytes, at: int, left: int, known: dict[int, str], shelf: Shelf
) -> tuple[int, int]:
    """From there on as many records, up to the first that is NOTED: where that is, and how many are
    left.

    Raises IndexError or struct.error where a record is cut off, ValueError for a name or an address
    that is none.
    """
    names, pointing, whole = shelf.names, shelf.pointing, len(wire)
    kinds = KINDS_WITH_HINTS if shelf.hints else KINDS
    while left:
        name, start = name_at(wire, at, known)
        kind, _, _, size = _FIXED(wire, start)
        if kind in NOTED:
            break
        if (end := start + 10 + size) > whole:
            raise IndexError
        if kind in kinds and name in names:
            shelf.keep((names[name], kinds[kind]), wire[start:end])
        elif kind == CNAME and (name in names or shelf.every_alias is not None):
            shelf.note_alias(name, name_at(wire, start + 10, known)[0])
        if pointing is not None:
            _note(wire, start + 10, end, known, name, kind, pointing)
        at, left = end, left - 1
    return at, left


def _note(
    wire: bytes,
    at: int,
    end: int,
    known: dict[int, str],
    name: str,
    kind: int,
    pointing: list[Noted],
) -> None:
    if kind in POINTING:
        place = at + POINTING[kind]
        if place < end:
            pointing.append((name, kind, wire[at:place], name_at(wire, place, known)[0]))
    elif kind in WITH_HINTS:
        place = at + WITH_HINTS[kind]
        if place < end:
            pointing.append((name, kind, wire[at:end], name_at(wire, place, known)[0]))
    elif kind == CAA or (kind == TXT and wire[at + 1 : end][:6].lower() == SPF):
        pointing.append((name, kind, wire[at:end], ""))


shelve = native_or_python.pick("shelve", reference_shelve)


def _text(kind: int, rdata: bytes) -> str:
    if kind == A:
        return socket.inet_ntop(socket.AF_INET, rdata)
    if kind == AAAA:
        return str(ipaddress.IPv6Address(rdata))
    if kind in WITH_HINTS:
        return text_of_data(kind, rdata)
    strings, at = [], 0
    while at < len(rdata):
        strings.append(rdata[at + 1 : at + 1 + rdata[at]].decode(errors="replace"))
        at += 1 + rdata[at]
    return SPLIT.join(strings)

"""The records of a zone transfer, kept or passed over while its messages come in.

In go messages as bytes; out come the record sets of the names that are wanted, and what makes a name unfit for
addresses. A transfer can bring millions of records, so nothing is made of those that nobody asked for.
"""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Iterable
from struct import Struct, unpack_from

from flex_dns.contents import Contents, Question, at_or_below, below

A, NS, CNAME, SOA, TXT, AAAA, DNAME = 1, 2, 5, 6, 16, 28, 39
KINDS = {A: "A", AAAA: "AAAA", TXT: "TXT"}
NOTED = frozenset((SOA, CNAME, NS, DNAME))
HEADER = 12
POINTER = 0xC0
# No name has more.
MOST_LABELS = 128

# Type, class, TTL, length.
_FIXED = Struct("!HHIH").unpack_from


class Harvest:
    """`serials` are those of the zone's SOA records: one at the beginning of a transfer, one at its end."""

    def __init__(self, zone: str, names: Iterable[str]) -> None:
        self.serials: list[int] = []
        self._zone = zone
        # Each name and each value is kept once, however many records have it.
        every = list(names)
        self._names = dict(zip(every, every, strict=True))
        self._sets: dict[Question, tuple[int, tuple[str, ...]]] = {}
        self._aliases: dict[str, str] = {}
        self._cuts: set[str] = set()
        self._dnames: set[str] = set()
        # By type, TTL and data: a cluster has few of them.
        self._values: dict[bytes, tuple[int, tuple[str, ...]]] = {}

    def take(self, wire: bytes) -> int:
        """All records of a message's answer section; where it ends. Raises ValueError for what is no such message."""
        try:
            return self._take(wire)
        except IndexError:
            raise ValueError("a record is cut off") from None

    @property
    def is_complete(self) -> bool:
        return len(self.serials) > 1

    def contents(self) -> Contents:
        closed = {name: f"has a CNAME to {target}" for name, target in self._aliases.items()}
        closed |= {name: f"is delegated at {cut}" for name, cut in at_or_below(self._names, self._cuts)}
        closed |= {name: f"lies below the DNAME at {dname}" for name, dname in below(self._names, self._dnames)}
        return Contents(self.serials[0], self._sets, closed)

    def _take(self, wire: bytes) -> int:
        questions, answers = unpack_from("!HH", wire, 4)
        known: dict[int, str] = {}
        names, end, whole = self._names, HEADER, len(wire)
        for _ in range(questions):
            end = skipped(wire, end) + 4
        for _ in range(answers):
            if len(self.serials) > 1:
                raise ValueError("records after the end")
            name, end = _name(wire, end, known)
            kind, _, ttl, size = _FIXED(wire, end)
            start, end = end + 10, end + 10 + size
            if end > whole:
                raise IndexError
            if kind in KINDS:
                if name in names:
                    self._keep(names[name], kind, ttl, wire[start - 10 : end])
            elif kind in NOTED:
                self._note(wire, name, kind, start, end, known)
            if not self.serials:
                raise ValueError("the first record is not the zone's SOA")
        return end

    def _keep(self, name: str, kind: int, ttl: int, record: bytes) -> None:
        value = self._values.get(record)
        if value is None:
            value = self._values[record] = ttl, (_text(kind, record[10:]),)
        key = (name, KINDS[kind])
        if (others := self._sets.setdefault(key, value)) is not value:
            self._sets[key] = (ttl, tuple(sorted({*others[1], *value[1]})))

    def _note(self, wire: bytes, name: str, kind: int, start: int, end: int, known: dict[int, str]) -> None:
        if kind == SOA and name == self._zone:
            # Two names of any length, then five numbers, of which the serial is the first.
            self.serials.append(unpack_from("!I", wire, max(start, end - 20))[0])
        elif kind == CNAME and name in self._names:
            self._aliases[name] = _name(wire, start, known)[0]
        elif kind == NS and name != self._zone:
            self._cuts.add(name)
        elif kind == DNAME:
            self._dnames.add(name)


def skipped(wire: bytes, at: int) -> int:
    """Where the name that begins there ends."""
    while length := wire[at]:
        if length >= POINTER:
            return at + 2
        at += 1 + length
    return at + 1


def _name(wire: bytes, at: int, known: dict[int, str]) -> tuple[str, int]:
    """The name that begins there, in lower case, and where it ends.

    A pointer must lead to before the name, or the part of it, that it stands in: so there is an end.
    """
    length = wire[at]
    if length < POINTER and wire[at + 1 + length] >= POINTER:
        # One label below a name that was there before: nearly every record of a zone.
        place = at + 1 + length
        rest = known.get((wire[place] & 0x3F) << 8 | wire[place + 1], "")
        if length and rest:
            known[at] = text = _label(wire[at + 1 : place]) + rest
            return text, place + 2
    labels: list[str] = []
    parts, end, rest = [(at, 0)], 0, ""
    while length := wire[at]:
        if length < POINTER:
            labels.append(_label(wire[at + 1 : at + 1 + length]))
            at += 1 + length
            continue
        end, target = end or at + 2, (length & 0x3F) << 8 | wire[at + 1]
        if target >= parts[-1][0] or len(labels) > MOST_LABELS:
            raise ValueError("a name that never ends")
        if (found := known.get(target)) is not None:
            rest = found
            break
        parts.append((target, len(labels)))
        at = target
    for start, first in parts:
        known[start] = "".join(labels[first:]) + rest
    return known[parts[0][0]] or ".", end or at + 1


def _label(raw: bytes) -> str:
    text = raw.decode("latin-1").lower()
    if "." in text or "\\" in text:
        text = text.replace("\\", "\\\\").replace(".", "\\.")
    return text + "."


def _text(kind: int, rdata: bytes) -> str:
    if kind == A:
        return socket.inet_ntop(socket.AF_INET, rdata)
    if kind == AAAA:
        return str(ipaddress.IPv6Address(rdata))
    strings, at = [], 0
    while at < len(rdata):
        strings.append(rdata[at + 1 : at + 1 + rdata[at]].decode(errors="replace"))
        at += 1 + rdata[at]
    return '" "'.join(strings)

"""Record sets of the names that are wanted, record by record as a transfer brings them.

Takes the bytes of a message. Puts sets on a Shelf. Does not look at records that say something
about the zone or about what a name can hold: filter_transfer_records.py does.
"""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Iterable
from struct import Struct, unpack_from

from flex import native_or_python
from flex_dns.wire.read_names_in_messages import name_at
from flex_dns.wire.zone_names_and_owners import Question

# Numbers of record types (RFC 1035, RFC 3596, RFC 6672).
A = 1
NS = 2
CNAME = 5
SOA = 6
TXT = 16
AAAA = 28
DNAME = 39
KINDS = {A: "A", AAAA: "AAAA", TXT: "TXT"}
# Types at which the loop stops: its caller looks at them (zone/filter_transfer_records.py).
NOTED = frozenset((SOA, CNAME, NS, DNAME))

# Values of one set that are remembered as one. So many are usual; all sets that a hostile zone can
# hold would take too much memory. A guess.
MOST_SHARED = 16

# TTL and values in order.
Set = tuple[int, tuple[str, ...]]

# What stands behind a record's owner: type, class, TTL, length of the data.
_FIXED = Struct("!HHIH").unpack_from


class Shelf:
    """The `sets` of the wanted `names`. Each name and each value is kept once, however many records
    have it.
    """

    def __init__(self, names: Iterable[str]) -> None:
        every = list(names)
        self.names = dict(zip(every, every, strict=True))
        self.sets: dict[Question, Set] = {}
        # By type, TTL and data, and two of them as one: a cluster has few.
        self.values: dict[bytes, Set] = {}
        self.unions: dict[tuple[Set, Set], Set] = {}

    def keep(self, key: Question, record: bytes) -> None:
        """The record is from its type on."""
        if (value := self.values.get(record)) is None:
            kind, ttl = unpack_from("!H2xI", record)
            value = self.values[record] = ttl, (_text(kind, record[10:]),)
        if (others := self.sets.setdefault(key, value)) is not value:
            self.sets[key] = self._union(others, value)

    def _union(self, others: Set, value: Set) -> Set:
        """With the TTL of the later one."""
        if (found := self.unions.get((others, value))) is not None:
            return found
        found = value[0], tuple(sorted({*others[1], *value[1]}))
        if len(found[1]) <= MOST_SHARED:
            self.unions[others, value] = found
        return found


def reference_shelve(
    wire: bytes, at: int, left: int, known: dict[int, str], shelf: Shelf
) -> tuple[int, int]:
    """From there on as many records, up to the first that is NOTED: where that is, and how many are
    left.

    Raises IndexError or struct.error where a record is cut off, ValueError for a name or an address
    that is none.
    """
    names, whole = shelf.names, len(wire)
    while left:
        name, start = name_at(wire, at, known)
        kind, _, _, size = _FIXED(wire, start)
        if kind in NOTED:
            break
        if (end := start + 10 + size) > whole:
            raise IndexError
        if kind in KINDS and name in names:
            shelf.keep((names[name], KINDS[kind]), wire[start:end])
        at, left = end, left - 1
    return at, left


shelve = native_or_python.pick("shelve", reference_shelve)


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

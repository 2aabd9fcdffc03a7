"""The records of a zone transfer, kept or passed over while its messages come in.

Takes messages as bytes. Returns the record sets of the names that are wanted, what makes a name
unfit for addresses, and the records that may lean on names that FLEX moves. Does not make anything
of other records: a transfer can bring millions.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable
from struct import unpack_from

from flex.zones.what_leans_on_names import Pointed, PointingRecord
from flex_dns.wire.read_names_in_messages import behind_questions, name_at
from flex_dns.wire.sets_from_transferred_records import DNAME, NS, SOA, Noted, Shelf, shelve
from flex_dns.wire.zone_names_and_owners import Contents, at_or_below, below
from flex_dns.zone.pointing_records import pointing_records


class Harvest:
    """`serials` are those of the zone's SOA records: one at the beginning of a transfer, one at its
    end. HTTPS and SVCB sets are kept with `hints` alone.
    """

    def __init__(
        self,
        zone: str,
        names: Iterable[str],
        pointed: Pointed | None = None,
        *,
        hints: bool = False,
    ) -> None:
        self.serials: list[int] = []
        self._zone = zone
        self._pointed = pointed
        self._shelf = Shelf(names, pointing=pointed is not None, hints=hints)
        self._cuts: set[str] = set()
        self._dnames: set[str] = set()

    def take(self, wire: bytes) -> int:
        """All records of a message's answer section; where it ends. Raises ValueError for what is
        no such message.
        """
        try:
            return self._take(wire)
        except (IndexError, struct.error):
            raise ValueError("a record is cut off") from None

    @property
    def is_complete(self) -> bool:
        return len(self.serials) > 1

    def contents(self) -> Contents:
        names = self._shelf.names
        closed = {name: f"has a CNAME to {target}" for name, target in self._shelf.aliases.items()}
        closed |= {name: f"is delegated at {cut}" for name, cut in at_or_below(names, self._cuts)}
        closed |= {
            name: f"lies below the DNAME at {dname}" for name, dname in below(names, self._dnames)
        }
        return Contents(
            self.serials[0],
            self._shelf.sets,
            closed,
            self._shelf.aliases,
            whole=True,
            pointing=self._pointing(),
        )

    def _pointing(self) -> tuple[PointingRecord, ...] | None:
        if self._pointed is None:
            return None
        shelf = self._shelf
        return pointing_records(
            self._zone, shelf.pointing or (), shelf.every_alias or {}, self._pointed
        )

    def _take(self, wire: bytes) -> int:
        questions, left = unpack_from("!HH", wire, 4)
        known: dict[int, str] = {}
        end = behind_questions(wire, questions)
        while left:
            if self.is_complete:
                raise ValueError("records after the end")
            if self.serials:
                end, left = shelve(wire, end, left, known, self._shelf)
            if left:
                end, left = self._note(wire, end, known), left - 1
        return end

    def _note(self, wire: bytes, at: int, known: dict[int, str]) -> int:
        """A record that says something of the zone, or of what names can hold; where it ends."""
        name, fixed = name_at(wire, at, known)
        kind, size = unpack_from("!H6xH", wire, fixed)
        start = fixed + 10
        end: int = start + size
        if end > len(wire):
            raise IndexError
        if kind == SOA and name == self._zone:
            # Two names of any length, then five numbers, of which the serial is the first.
            self.serials.append(unpack_from("!I", wire, max(start, end - 20))[0])
        elif kind == NS:
            self._note_server(wire, start, known, name)
        elif kind == DNAME:
            self._dnames.add(name)
        if not self.serials:
            raise ValueError("the first record is not the zone's SOA")
        return end

    def _note_server(self, wire: bytes, at: int, known: dict[int, str], name: str) -> None:
        if name != self._zone:
            self._cuts.add(name)
        if self._shelf.pointing is not None:
            server: Noted = (name, NS, b"", name_at(wire, at, known)[0])
            self._shelf.pointing.append(server)

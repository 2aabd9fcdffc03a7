"""A zone as a whole (AXFR): read once, believed only when it is complete and signed.

Takes a session, a zone and the names that matter. Returns Contents, None where the server lets us
transfer nothing, or raises a DnsError. A transfer is complete when it begins and ends with the same
SOA of the zone, and when its first and last message are signed; each signature covers all messages
since the one before.

Records are kept or passed over while the messages come in, as a transfer can bring millions.
"""

from __future__ import annotations

import struct
import time
from collections.abc import Iterable
from struct import unpack_from

import dns.message
import dns.name
import dns.rcode
import dns.rdata
import dns.rdataclass
import dns.rdatatype
import dns.tsig

from flex.zones.what_leans_on_names import Pointed, PointingRecord
from flex_dns.wire.explain_dns_errors import said_no, translate_errors, untrusted_error
from flex_dns.wire.name_server_and_key import Server
from flex_dns.wire.read_names_in_messages import end_of_name, end_of_questions, name_at
from flex_dns.wire.session import Session
from flex_dns.wire.transferred_sets import DNAME, NS, SOA, Noted, Shelf, shelve
from flex_dns.wire.zone_contents import Contents, names_at_or_below, names_below
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
        closed |= {
            name: f"is delegated at {cut}" for name, cut in names_at_or_below(names, self._cuts)
        }
        closed |= {
            name: f"lies below the DNAME at {dname}"
            for name, dname in names_below(names, self._dnames)
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
        end = end_of_questions(wire, questions)
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


# The QR bit of the flags: set in answers (RFC 1035, section 4.1.1).
RESPONSE = 0x8000


def transfer(
    session: Session,
    server: Server,
    zone: str,
    names: Iterable[str],
    pointed: Pointed | None = None,
    *,
    hints: bool = False,
) -> Contents | None:
    subject = f"transfer of {zone}"
    with translate_errors(server, subject):
        query = dns.message.make_query(zone, dns.rdatatype.AXFR)
        mac = session.send(query)
        wire = session.receive()
        if refusal := _refusal(session, wire, mac, subject):
            if refusal == dns.rcode.REFUSED:
                return None
            raise said_no(refusal, server, subject)
        harvest = Harvest(zone, names, pointed, hints=hints)
        gathered = _gather(session, server, zone, harvest, wire, query.id, mac)
    if gathered.serials[0] != gathered.serials[1]:
        raise untrusted_error(
            server, subject, "the transfer ends with another SOA than it began with"
        )
    return gathered.contents()


def may_transfer(session: Session, zone: str) -> dns.rcode.Rcode:
    """What the server says to the question; the session is to be closed, for the zone itself is not
    waited for.
    """
    subject = f"transfer of {zone}"
    with translate_errors(session.server, subject):
        mac = session.send(dns.message.make_query(zone, dns.rdatatype.AXFR))
        wire = session.receive()
        return _refusal(session, wire, mac, subject) or dns.rcode.NOERROR


def _refusal(session: Session, wire: bytes, mac: bytes, subject: str) -> dns.rcode.Rcode | None:
    """A no, checked as any answer is; None when the answer holds records."""
    flags, _, answers = unpack_from("!HHH", wire, 2)
    if answers and not flags & 15:
        return None
    answer = session.verify(wire, mac, subject)
    if answer.rcode() == dns.rcode.NOERROR:
        raise untrusted_error(
            session.server, subject, "the transfer does not begin with the zone's SOA"
        )
    return answer.rcode()


def _gather(
    session: Session,
    server: Server,
    zone: str,
    harvest: Harvest,
    wire: bytes,
    query_id: int,
    mac: bytes,
) -> Harvest:
    subject = f"transfer of {zone}"
    chain = _Chain(session.key, mac)
    first = True
    while True:
        message_id, flags = unpack_from("!HH", wire)
        if message_id != query_id or not flags & RESPONSE:
            raise untrusted_error(server, subject, "the answer is to another question")
        if flags & 15:
            raise said_no(dns.rcode.Rcode(flags & 15), server, subject)
        signed = chain.covers(wire, harvest.take(wire))
        if first and not signed:
            raise untrusted_error(server, subject, "the transfer is not signed")
        if harvest.is_complete:
            if not signed:
                raise untrusted_error(server, subject, "the end of the transfer is not signed")
            return harvest
        first, wire = False, session.receive()


class _Chain:
    """The signatures of a transfer: each covers the one before it and all that came in between."""

    def __init__(self, key: dns.tsig.Key, mac: bytes) -> None:
        self._key = key
        self._mac = mac
        self._context: dns.tsig.HMACTSig | dns.tsig.GSSTSig | None = None

    def covers(self, wire: bytes, end: int) -> bool:
        """Whether the message, whose answers end there, is signed itself. Raises for a signature
        that is wrong.
        """
        authority, additional = unpack_from("!HH", wire, 8)
        if authority or additional > 1:
            raise ValueError("a transfer holds answers and a signature only")
        if not additional:
            if end != len(wire):
                raise ValueError("something stands behind the last record")
            if self._context is not None:
                # dnspython leaves it without types.
                self._context.update(wire)  # type: ignore[no-untyped-call]
            return False
        self._verify(wire, end)
        return True

    def _verify(self, wire: bytes, end: int) -> None:
        owner, _ = dns.name.from_wire(wire, end)
        at = end_of_name(wire, end)
        kind, _, _, size = unpack_from("!HHIH", wire, at)
        if kind != dns.rdatatype.TSIG or at + 10 + size != len(wire):
            raise ValueError("a transfer holds answers and a signature only")
        rdata = dns.rdata.from_wire(dns.rdataclass.ANY, dns.rdatatype.TSIG, wire, at + 10, size)
        self._context = dns.tsig.validate(  # type: ignore[no-untyped-call]  # as above
            wire, self._key, owner, rdata, int(time.time()), self._mac, end, self._context, True
        )

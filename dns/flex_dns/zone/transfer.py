"""A zone as a whole (AXFR): read once, believed only when it is complete and signed.

Takes a session, a zone and the names that matter. Returns Contents, None where the server lets us
transfer nothing, or raises a DnsError. A transfer is complete when it begins and ends with the same
SOA of the zone, and when its first and last message are signed; each signature covers all messages
since the one before.
"""

from __future__ import annotations

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

from flex.zones.what_leans_on_names import Pointed
from flex_dns.wire.explain_dns_errors import said_no, translate_errors, untrusted_error
from flex_dns.wire.name_server_and_key import Server
from flex_dns.wire.read_names_in_messages import end_of_name
from flex_dns.wire.session import Session
from flex_dns.wire.signing import Context
from flex_dns.wire.zone_names_and_owners import Contents
from flex_dns.zone.filter_transfer_records import Harvest

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
    asked = f"transfer of {zone}"
    with translate_errors(server, asked):
        query = dns.message.make_query(zone, dns.rdatatype.AXFR)
        mac = session.send(query)
        wire = session.receive()
        if refusal := _refusal(session, wire, mac, asked):
            if refusal == dns.rcode.REFUSED:
                return None
            raise said_no(refusal, server, asked)
        harvest = Harvest(zone, names, pointed, hints=hints)
        found = _gather(session, server, zone, harvest, wire, query.id, mac)
    if found.serials[0] != found.serials[1]:
        raise untrusted_error(
            server, asked, "the transfer ends with another SOA than it began with"
        )
    return found.contents()


def may_transfer(session: Session, zone: str) -> dns.rcode.Rcode:
    """What the server says to the question; the session is to be closed, for the zone itself is not
    waited for.
    """
    asked = f"transfer of {zone}"
    with translate_errors(session.server, asked):
        mac = session.send(dns.message.make_query(zone, dns.rdatatype.AXFR))
        wire = session.receive()
        return _refusal(session, wire, mac, asked) or dns.rcode.NOERROR


def _refusal(session: Session, wire: bytes, mac: bytes, asked: str) -> dns.rcode.Rcode | None:
    """A no, checked as any answer is; None when the answer holds records."""
    flags, _, answers = unpack_from("!HHH", wire, 2)
    if answers and not flags & 15:
        return None
    answer = session.verify(wire, mac, asked)
    if answer.rcode() == dns.rcode.NOERROR:
        raise untrusted_error(
            session.server, asked, "the transfer does not begin with the zone's SOA"
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
    asked = f"transfer of {zone}"
    chain = _Chain(session.key, mac)
    first = True
    while True:
        message_id, flags = unpack_from("!HH", wire)
        if message_id != query_id or not flags & RESPONSE:
            raise untrusted_error(server, asked, "the answer is to another question")
        if flags & 15:
            raise said_no(dns.rcode.Rcode(flags & 15), server, asked)
        signed = chain.covers(wire, harvest.take(wire))
        if first and not signed:
            raise untrusted_error(server, asked, "the transfer is not signed")
        if harvest.is_complete:
            if not signed:
                raise untrusted_error(server, asked, "the end of the transfer is not signed")
            return harvest
        first, wire = False, session.receive()


class _Chain:
    """The signatures of a transfer: each covers the one before it and all that came in between."""

    def __init__(self, key: dns.tsig.Key, mac: bytes) -> None:
        self._key = key
        self._mac = mac
        self._context: Context = None

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

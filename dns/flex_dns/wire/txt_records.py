"""TXT record sets: what stands at names, and the record of a text.

Takes a session, and names with their zones. Returns the texts as they are, for anybody may have
written them, or why nobody knows them. Does not say what a text means.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import dns.flags
import dns.message
import dns.rcode
import dns.rdataclass
import dns.rdatatype
from dns.rdtypes.ANY.TXT import TXT

from flex.errors import DnsError, Unreachable
from flex_dns.wire.explain_dns_errors import not_authoritative, said_no
from flex_dns.wire.name_server_and_key import Server
from flex_dns.wire.session import Session


@dataclass(frozen=True, slots=True)
class Texts:
    """The texts of one record set. `records` are the records themselves where they were read:
    somebody may have split a text otherwise than FLEX does.
    """

    ttl: int = 0
    values: frozenset[str] = frozenset()
    records: tuple[TXT, ...] = field(default=(), compare=False)

    def as_records(self) -> tuple[TXT, ...]:
        return self.records or tuple(map(record_of, sorted(self.values)))


def texts_at(
    session: Session, server: Server, names: Mapping[str, str], subject: str
) -> dict[str, Texts | DnsError]:
    """What stands at each of these names, which are given with their zones, or why that could not
    be learnt for certain.
    """
    if not names:
        return {}
    queries = [dns.message.make_query(name, "TXT", flags=0) for name in names]
    try:
        replies = session.ask_all(queries, subject)
    except DnsError as error:
        if len(names) == 1 or isinstance(error, Unreachable):
            return dict.fromkeys(names, error)
        # A server may refuse the key for one zone alone (Knot does), which is in the way of others.
        pairs = list(names.items())
        half = len(pairs) // 2
        return {
            name: outcome
            for part in (pairs[:half], pairs[half:])
            for name, outcome in texts_at(session, server, dict(part), subject).items()
        }
    return {
        name: _texts(server, zone, name, reply)
        for (name, zone), reply in zip(names.items(), replies, strict=True)
    }


def texts_in(reply: dns.message.Message, name: str) -> Texts:
    for rrset in reply.answer:
        if rrset.rdtype == dns.rdatatype.TXT and rrset.name.to_text().lower() == name:
            records = tuple(rdata for rdata in rrset if isinstance(rdata, TXT))
            return Texts(rrset.ttl, frozenset(map(text_of, records)), records)
    return Texts()


def text_of(record: TXT) -> str:
    return b"".join(record.strings).decode(errors="surrogateescape")


def record_of(text: str) -> TXT:
    data = text.encode(errors="surrogateescape")
    strings = [data[at : at + 255] for at in range(0, max(1, len(data)), 255)]
    return TXT(dns.rdataclass.IN, dns.rdatatype.TXT, strings)


def _texts(server: Server, zone: str, name: str, reply: dns.message.Message) -> Texts | DnsError:
    subject = f"TXT of {name}"
    if reply.rcode() not in (dns.rcode.NOERROR, dns.rcode.NXDOMAIN):
        return said_no(reply.rcode(), server, subject)
    if not reply.flags & dns.flags.AA:
        return not_authoritative(server, zone, subject)
    return texts_in(reply, name)

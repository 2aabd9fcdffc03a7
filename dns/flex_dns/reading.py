"""Reading record sets from a primary: by one zone transfer where the key may, else name by name.

Complete or an error: a transfer counts when it ended with the SOA it began with and its last message was signed,
an answer when the server gave it with authority. Without transfers, names under a wildcard seem to exist.
"""

from __future__ import annotations

from collections.abc import Sequence

import dns.flags
import dns.message
import dns.rcode
import dns.rdata
import dns.rdatatype
import dns.rrset
from dns.rdtypes.ANY.SOA import SOA
from dns.rdtypes.ANY.TXT import TXT

from flex_dns.contents import Contents, Question, at_or_below, below, canonical
from flex_dns.server import Server
from flex_dns.session import Session
from flex_dns.trouble import not_authoritative, said_no, untrusted

SETS = (dns.rdatatype.A, dns.rdatatype.AAAA, dns.rdatatype.TXT)


def read(session: Session, server: Server, zone: str, questions: Sequence[Question]) -> Contents:
    """The sets in question. Raises a DnsError when any of them could not be learnt for certain."""
    return _by_transfer(session, server, zone, questions) or by_queries(session, server, zone, questions)


def by_queries(session: Session, server: Server, zone: str, questions: Sequence[Question]) -> Contents:
    asked = f"records of {zone}"
    serial = soa_serial(session, server, zone)
    answers = session.ask_all([dns.message.make_query(name, kind, flags=0) for name, kind in questions], asked)
    sets: dict[Question, tuple[int, tuple[str, ...]]] = {}
    closed: dict[str, str] = {}
    for (name, kind), answer in zip(questions, answers, strict=True):
        if reason := _delegated(zone, answer) or _alias(name, answer):
            closed[name] = reason
            continue
        if answer.rcode() not in (dns.rcode.NOERROR, dns.rcode.NXDOMAIN):
            raise said_no(answer.rcode(), server, f"{kind} of {name}")
        if not answer.flags & dns.flags.AA:
            raise not_authoritative(server, zone, f"{kind} of {name}")
        for rrset in answer.answer:
            if _name(rrset) == name and dns.rdatatype.to_text(rrset.rdtype) == kind:
                sets[name, kind] = (rrset.ttl, _values(rrset))
    return Contents(serial, sets, closed)


def soa_serial(session: Session, server: Server, zone: str) -> int:
    """The zone's serial, from an answer with authority."""
    asked = f"SOA of {zone}"
    answer = session.ask(dns.message.make_query(zone, "SOA", flags=0), asked)
    if answer.rcode() != dns.rcode.NOERROR:
        raise said_no(answer.rcode(), server, asked)
    serials = [_serial(rrset) for rrset in answer.answer if rrset.rdtype == dns.rdatatype.SOA and _name(rrset) == zone]
    if not answer.flags & dns.flags.AA or not serials:
        raise not_authoritative(server, zone, asked)
    return serials[0]


def _by_transfer(session: Session, server: Server, zone: str, questions: Sequence[Question]) -> Contents | None:
    """None when the server lets us transfer nothing."""
    rrsets = _transferred(session, server, zone)
    if rrsets is None:
        return None
    wanted = set(questions)
    names = {name for name, _ in questions}
    sets: dict[Question, tuple[int, tuple[str, ...]]] = {}
    cuts: set[str] = set()
    dnames: set[str] = set()
    closed: dict[str, str] = {}
    serial = _serial(rrsets[0])
    for rrset in rrsets:
        name = _name(rrset)
        if rrset.rdtype in SETS and (name, kind := dns.rdatatype.to_text(rrset.rdtype)) in wanted:
            _, values = sets.get((name, kind), (0, ()))
            sets[name, kind] = (rrset.ttl, tuple(sorted({*values, *_values(rrset)})))
        elif rrset.rdtype == dns.rdatatype.CNAME and name in names:
            closed[name] = f"has a CNAME to {rrset[0].to_text()}"
        elif rrset.rdtype == dns.rdatatype.NS and name != zone:
            cuts.add(name)
        elif rrset.rdtype == dns.rdatatype.DNAME:
            dnames.add(name)
    closed |= {name: f"is delegated at {cut}" for name, cut in at_or_below(names, cuts)}
    closed |= {name: f"lies below the DNAME at {dname}" for name, dname in below(names, dnames)}
    return Contents(serial, sets, closed)


def _transferred(session: Session, server: Server, zone: str) -> list[dns.rrset.RRset] | None:
    asked = f"transfer of {zone}"
    rrsets: list[dns.rrset.RRset] = []
    for answer in session.transfer(zone):
        if answer.rcode() == dns.rcode.REFUSED and not rrsets:
            return None
        if answer.rcode() != dns.rcode.NOERROR:
            raise said_no(answer.rcode(), server, asked)
        if not rrsets and not _is_soa(zone, answer.answer[:1]):
            raise untrusted(server, asked, "the transfer does not begin with the zone's SOA")
        if not rrsets and not answer.had_tsig:
            raise untrusted(server, asked, "the transfer is not signed")
        rrsets += answer.answer
        if len(rrsets) > 1 and _is_soa(zone, rrsets[-1:]):
            if not answer.had_tsig:
                raise untrusted(server, asked, "the end of the transfer is not signed")
            break
    if _serial(rrsets[0]) != _serial(rrsets[-1]):
        raise untrusted(server, asked, "the transfer ends with another SOA than it began with")
    return rrsets


def _delegated(zone: str, answer: dns.message.Message) -> str:
    if answer.flags & dns.flags.AA or answer.rcode() != dns.rcode.NOERROR:
        return ""
    cuts = [_name(rrset) for rrset in answer.authority if rrset.rdtype == dns.rdatatype.NS]
    return next((f"is delegated at {cut}" for cut in cuts if cut.endswith(f".{zone}")), "")


def _alias(name: str, answer: dns.message.Message) -> str:
    targets = [
        rrset[0].to_text() for rrset in answer.answer if rrset.rdtype == dns.rdatatype.CNAME and _name(rrset) == name
    ]
    return f"has a CNAME to {targets[0]}" if targets else ""


def _is_soa(zone: str, rrsets: Sequence[dns.rrset.RRset]) -> bool:
    return bool(rrsets) and rrsets[0].rdtype == dns.rdatatype.SOA and _name(rrsets[0]) == zone


def _serial(rrset: dns.rrset.RRset) -> int:
    soa = rrset[0]
    assert isinstance(soa, SOA)
    return soa.serial


def _name(rrset: dns.rrset.RRset) -> str:
    return rrset.name.to_text().lower()


def _values(rrset: dns.rrset.RRset) -> tuple[str, ...]:
    return tuple(sorted(_value(rdata) for rdata in rrset))


def _value(rdata: dns.rdata.Rdata) -> str:
    if isinstance(rdata, TXT):
        return '" "'.join(string.decode(errors="replace") for string in rdata.strings)
    return canonical(dns.rdatatype.to_text(rdata.rdtype), rdata.to_text())

"""Record sets read from a primary: by one zone transfer where the key may, else name by name.

Takes a session and what is asked. Returns Contents that are complete, or raises an error:
transfer.py says when a transfer is complete, and an answer counts when the server gave it with
authority. wildcard_answered_names.py tells names below a wildcard from names that are there.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import pairwise

import dns.flags
import dns.message
import dns.rcode
import dns.rdata
import dns.rdatatype
import dns.rrset
from dns.rdtypes.ANY.CAA import CAA
from dns.rdtypes.ANY.MX import MX
from dns.rdtypes.ANY.SOA import SOA
from dns.rdtypes.ANY.TXT import TXT
from dns.rdtypes.IN.HTTPS import HTTPS
from dns.rdtypes.svcbbase import SVCBBase

from flex.zones.address_hints import HINTED
from flex.zones.what_leans_on_names import (
    MOST_ASKED,
    Pointed,
    PointingRecord,
    lets_somebody_send,
    mail_without_mx,
    points_to_names,
)
from flex_dns.wire.explain_dns_errors import not_authoritative, said_no
from flex_dns.wire.https_and_svcb import text_of_data
from flex_dns.wire.name_server_and_key import Server
from flex_dns.wire.session import Session
from flex_dns.wire.zone_contents import (
    SPLIT,
    AskedNames,
    Contents,
    Question,
    canonical,
    owners,
)
from flex_dns.zone import where_names_lead, wildcard_answered_names
from flex_dns.zone.pointing_records import has_hints
from flex_dns.zone.transfer import transfer
from flex_dns.zone.where_names_lead import wildcards

# What is asked for at a name, to see what leans on it.
OWN_KINDS = ("MX", "TXT", "CAA", "HTTPS")


def read(
    session: Session,
    server: Server,
    zone: str,
    questions: Iterable[Question],
    also: Sequence[str] = (),
    pointed: Pointed | None = None,
    *,
    hints: Sequence[Question] = (),
) -> Contents:
    """The sets in question. Raises a DnsError when any of them could not be learnt for certain.

    A transfer has those of the names of `also` as well, and the records that point to what is
    `pointed`. Without one, only the records of a few names themselves are asked for. HTTPS and SVCB
    sets are read where they are in question or among the `hints`; and all of a transfer, where they
    are to change with addresses.
    """
    with session.reading() as reader:
        names = [*owners(questions), *also, *wildcards(zone, also)]
        transferred = transfer(
            reader,
            reader.server,
            zone,
            names,
            pointed,
            hints=server.hints or bool(hints) or _asks_for_hints(questions),
        )
    if transferred:
        return wildcard_answered_names.told_apart(session, zone, questions, transferred)
    contents = wildcard_answered_names.told_apart(
        session, zone, questions, read_by_queries(session, server, zone, [*questions, *hints])
    )
    names = list(dict.fromkeys(name for name, kind in questions if kind == "A"))
    if pointed is None or len(names) > MOST_ASKED:
        return contents
    return replace(contents, pointing=pointing_by_queries(session, server, zone, names))


def _asks_for_hints(questions: Iterable[Question]) -> bool:
    return not isinstance(questions, AskedNames) and any(kind in HINTED for _, kind in questions)


def read_by_queries(
    session: Session, server: Server, zone: str, questions: Sequence[Question]
) -> Contents:
    subject = f"records of {zone}"
    serial = soa_serial(session, server, zone)
    answers = session.ask_all(
        [dns.message.make_query(name, kind, flags=0) for name, kind in questions], subject
    )
    sets: dict[Question, tuple[int, tuple[str, ...]]] = {}
    closed: dict[str, str] = {}
    for (name, kind), answer in zip(questions, answers, strict=True):
        if reason := _delegation_in(zone, answer) or _alias(name, answer):
            closed[name] = reason
            continue
        if answer.rcode() not in (dns.rcode.NOERROR, dns.rcode.NXDOMAIN):
            raise said_no(answer.rcode(), server, f"{kind} of {name}")
        if not answer.flags & dns.flags.AA:
            raise not_authoritative(server, zone, f"{kind} of {name}")
        for rrset in answer.answer:
            if _name(rrset) == name and dns.rdatatype.to_text(rrset.rdtype) == kind:
                sets[name, kind] = (rrset.ttl, values(rrset))
    return Contents(serial, sets, closed)


def soa_serial(session: Session, server: Server, zone: str) -> int:
    """The zone's serial, from an answer with authority."""
    subject = f"SOA of {zone}"
    answer = session.ask(dns.message.make_query(zone, "SOA", flags=0), subject)
    if answer.rcode() != dns.rcode.NOERROR:
        raise said_no(answer.rcode(), server, subject)
    serials = [
        _serial(rrset)
        for rrset in answer.answer
        if rrset.rdtype == dns.rdatatype.SOA and _name(rrset) == zone
    ]
    if not answer.flags & dns.flags.AA or not serials:
        raise not_authoritative(server, zone, subject)
    return serials[0]


def pointing_by_queries(
    session: Session, server: Server, zone: str, names: Sequence[str]
) -> tuple[PointingRecord, ...]:
    """What the names' own records say: MX, SPF, CAA and HTTPS, and where the mail servers lead.
    What leans on them elsewhere in the zone cannot be learnt so.
    """
    subject = f"what leans on names of {zone}"
    questions = [(name, kind) for name in names for kind in OWN_KINDS]
    replies = session.ask_all(
        [dns.message.make_query(name, kind, flags=0) for name, kind in questions], subject
    )
    records: list[PointingRecord] = []
    policies: dict[str, str] = {}
    with_mx = set[str]()
    for (name, kind), reply in zip(questions, replies, strict=True):
        if reply.rcode() not in (dns.rcode.NOERROR, dns.rcode.NXDOMAIN):
            if kind == "HTTPS":
                # An old server does not know the type, and so has none.
                continue
            raise said_no(reply.rcode(), server, f"{kind} of {name}")
        for rdata in _records_of(name, kind, reply):
            if kind == "MX":
                with_mx.add(name)
            if isinstance(rdata, TXT) and lets_somebody_send(text := _text(rdata)):
                policies.setdefault(name, text)
            if record := _pointing(name, rdata):
                records.append(record)
    records += [
        mail_without_mx(name, text) for name, text in policies.items() if name not in with_mx
    ]
    targets = sorted({record.target for record in records if record.target} - set(names))
    here = [name for name in targets if name == zone or name.endswith(f".{zone}")]
    for target, answer in where_names_lead.ask(session, zone, here).items():
        steps = (target, *answer.chain)
        records += [PointingRecord(owner, "CNAME", to, to) for owner, to in pairwise(steps)]
    return tuple(records)


def _records_of(name: str, kind: str, reply: dns.message.Message) -> Iterator[dns.rdata.Rdata]:
    for rrset in reply.answer:
        if _name(rrset) == name and dns.rdatatype.to_text(rrset.rdtype) == kind:
            yield from rrset


def _text(rdata: TXT) -> str:
    return b"".join(rdata.strings).decode(errors="replace")


def _pointing(name: str, rdata: dns.rdata.Rdata) -> PointingRecord | None:
    if isinstance(rdata, MX):
        target = rdata.exchange.to_text().lower()
        return PointingRecord(name, "MX", f"{rdata.preference} {target}", target)
    if isinstance(rdata, CAA):
        return PointingRecord(name, "CAA", rdata.to_text())
    if isinstance(rdata, HTTPS):
        target = rdata.target.to_text().lower()
        about = name if target == "." else target
        text = rdata.to_text()
        data = rdata.to_wire() or b""
        return PointingRecord(name, "HTTPS", text, about) if has_hints(data) else None
    text = _text(rdata) if isinstance(rdata, TXT) else ""
    return PointingRecord(name, "SPF", text) if points_to_names(text) else None


def _delegation_in(zone: str, answer: dns.message.Message) -> str:
    if answer.flags & dns.flags.AA or answer.rcode() != dns.rcode.NOERROR:
        return ""
    cuts = [_name(rrset) for rrset in answer.authority if rrset.rdtype == dns.rdatatype.NS]
    return next((f"is delegated at {cut}" for cut in cuts if cut.endswith(f".{zone}")), "")


def _alias(name: str, answer: dns.message.Message) -> str:
    targets = [
        rrset[0].to_text()
        for rrset in answer.answer
        if rrset.rdtype == dns.rdatatype.CNAME and _name(rrset) == name
    ]
    return f"has a CNAME to {targets[0]}" if targets else ""


def _serial(rrset: dns.rrset.RRset) -> int:
    soa = rrset[0]
    assert isinstance(soa, SOA)
    return soa.serial


def _name(rrset: dns.rrset.RRset) -> str:
    return rrset.name.to_text().lower()


def values(rrset: dns.rrset.RRset) -> tuple[str, ...]:
    return tuple(sorted(_value(rdata) for rdata in rrset))


def _value(rdata: dns.rdata.Rdata) -> str:
    if isinstance(rdata, TXT):
        return SPLIT.join(string.decode(errors="replace") for string in rdata.strings)
    if isinstance(rdata, SVCBBase):
        return text_of_data(rdata.rdtype, rdata.to_wire() or b"")
    return canonical(dns.rdatatype.to_text(rdata.rdtype), rdata.to_text())

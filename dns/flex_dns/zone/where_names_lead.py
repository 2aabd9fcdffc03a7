"""Where a name leads that is not placed by FLEX: its addresses, or those at the end of its CNAMEs.

Takes names of a zone and what was read of the zone. Returns a NameAnswer for each name. What a
transfer says plainly is taken from there. For everything else the primary is asked, which follows
wildcards, CNAMEs and DNAMEs as it does for visitors. Does not change anything, does not ask anybody
else, and stops at a CNAME that leaves the zones of this primary.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import dns.flags
import dns.message
import dns.rcode
import dns.rdatatype

from flex.zones.records_of_partition import NameAnswer
from flex_dns.wire.session import Session
from flex_dns.wire.zone_contents import Contents, canonical

ADDRESSES = ("A", "AAAA")
# Names in a chain of CNAMEs. BIND follows 16.
LONGEST_CHAIN = 16


def wildcards(zone: str, names: Iterable[str]) -> list[str]:
    """The owners of every wildcard of the zone that could answer for one of the names."""
    owners: dict[str, None] = {}
    for name in names:
        parent = name
        while parent != zone and parent:
            parent = parent.partition(".")[2]
            owners[f"*.{parent}"] = None
    return list(owners)


def answers(
    session: Session, zone: str, names: Sequence[str], contents: Contents
) -> dict[str, NameAnswer]:
    """Raises a DnsError where the primary does not answer."""
    plain = {name: _plain(zone, name, contents) for name in names} if contents.whole else {}
    known = {name: answer for name, answer in plain.items() if answer is not None}
    unknown_names = [name for name in names if name not in known]
    return known | ask(session, zone, unknown_names)


def _plain(zone: str, name: str, contents: Contents) -> NameAnswer | None:
    """What the transfer says by itself; None where the name server has to be asked."""
    if name in contents.closed and name not in contents.aliases:
        # What is there leads elsewhere: addresses below a delegation are glue.
        return None
    addresses = _addresses(name, contents)
    if addresses:
        return NameAnswer(addresses)
    if target := contents.aliases.get(name):
        behind = _addresses(target, contents)
        return NameAnswer(behind, (target,)) if behind else None
    if any(_is_there(owner, contents) for owner in wildcards(zone, [name])):
        return None
    return NameAnswer()


def _addresses(name: str, contents: Contents) -> tuple[str, ...]:
    return tuple(
        value for kind in ADDRESSES for value in contents.sets.get((name, kind), (0, ()))[1]
    )


def _is_there(owner: str, contents: Contents) -> bool:
    return owner in contents.aliases or bool(_addresses(owner, contents))


def ask(session: Session, zone: str, names: Sequence[str]) -> dict[str, NameAnswer]:
    """What the primary itself answers. Raises a DnsError where it does not."""
    questions = [(name, kind) for name in names for kind in ADDRESSES]
    messages = [dns.message.make_query(name, kind, flags=0) for name, kind in questions]
    replies = session.ask_all(messages, f"addresses of other names in {zone}")
    name_answers: dict[str, NameAnswer] = {}
    for (name, kind), reply in zip(questions, replies, strict=True):
        answer = _answer(name, kind, reply)
        known = name_answers.get(name, NameAnswer())
        chain = answer.chain or known.chain
        name_answers[name] = NameAnswer(
            (*known.addresses, *answer.addresses), chain, answer.unknown or known.unknown
        )
    return name_answers


def _answer(name: str, kind: str, reply: dns.message.Message) -> NameAnswer:
    if reply.rcode() not in (dns.rcode.NOERROR, dns.rcode.NXDOMAIN):
        # Nobody's plan waits for a name that FLEX does not change.
        return NameAnswer(unknown=f"is answered with {dns.rcode.to_text(reply.rcode())}")
    chain = tuple(_chain(name, reply))
    if not chain and not reply.flags & dns.flags.AA:
        return NameAnswer(unknown="is delegated to other name servers")
    last = chain[-1] if chain else name
    values = {
        canonical(kind, rdata.to_text())
        for rrset in reply.answer
        if rrset.name.to_text().lower() == last and dns.rdatatype.to_text(rrset.rdtype) == kind
        for rdata in rrset
    }
    return NameAnswer(tuple(sorted(values)), chain)


def _chain(name: str, reply: dns.message.Message) -> Iterator[str]:
    targets = {
        rrset.name.to_text().lower(): rrset[0].to_text().lower()
        for rrset in reply.answer
        if rrset.rdtype == dns.rdatatype.CNAME
    }
    for _ in range(LONGEST_CHAIN):
        if name not in targets:
            return
        name = targets[name]
        yield name

"""Names that are not there, and for which a wildcard answers (RFC 4592).

Takes a session, and what was read of a zone. Returns the same with these names told apart from
those that are there. A transfer of the names that matter does not say it, as a record of any type
at or below a name makes that be there; so the primary is asked. Does not decide what becomes of
such names.

A name that does not exist stands for all others: who asks for one below `*.<name>` is answered by a
wildcard above `<name>` alone, and by none where `<name>` is there, whatever is at `*.<name>`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import dns.flags
import dns.message
import dns.rcode
import dns.rdatatype

from flex.zones.marker import marker_name, marker_owner
from flex.zones.records_of_partition import BelowWildcard
from flex_dns.wire.explain_dns_errors import said_no
from flex_dns.wire.session import Session
from flex_dns.wire.zone_contents import Contents, Question, unfit
from flex_dns.zone import where_names_lead
from flex_dns.zone.where_names_lead import ADDRESSES, wildcards

# The types of records that a wildcard is asked for: what is usual at the name of a site.
TYPES = ("CNAME", "DNAME", "A", "AAAA", "MX", "TXT", "CAA", "HTTPS", "SVCB", "SRV")
# What tells whether a name is there: nobody follows an alias to answer for it.
PROBE = "CNAME"
# No host has this name: names of hosts have no underscore.
NOBODY = "_"


def told_apart(
    session: Session, zone: str, questions: Iterable[Question], contents: Contents
) -> Contents:
    """Raises a DnsError where the primary does not answer."""
    names = _names_without_records(zone, questions, contents)
    markers = set() if contents.whole else _odd_markers(zone, names, contents)
    below = _find_names_below_wildcards(session, zone, [*names, *markers])
    if not below:
        return contents
    sets = {question: held for question, held in contents.sets.items() if question[0] not in below}
    closed = {name: why for name, why in contents.closed.items() if name not in below}
    ours = {name: below_wildcard for name, below_wildcard in below.items() if name not in markers}
    return replace(contents, sets=sets, closed=closed, below_wildcards=ours)


def _names_without_records(
    zone: str, questions: Iterable[Question], contents: Contents
) -> list[str]:
    """The names that nothing shows to be there. Without a transfer that is their marker alone: what
    they answer may be a wildcard's.
    """
    names = dict.fromkeys(name for name, kind in questions if kind in ADDRESSES)
    return [
        name
        for name in names
        if not unfit(zone, name)
        and not _has_marker(zone, name, contents)
        and not (contents.whole and _has_records(name, contents))
    ]


def _has_marker(zone: str, name: str, contents: Contents) -> bool:
    _, texts = contents.sets.get((marker_name(name, zone), "TXT"), (0, ()))
    return any(marker_owner(text) is not None for text in texts)


def _odd_markers(zone: str, names: Iterable[str], contents: Contents) -> set[str]:
    """Where there should be markers of these names, and something else answers: a wildcard may."""
    markers = (marker_name(name, zone) for name in names)
    return {
        marker
        for marker in markers
        if marker in contents.closed or (marker, "TXT") in contents.sets
    }


def _has_records(name: str, contents: Contents) -> bool:
    return name in contents.closed or any((name, kind) in contents.sets for kind in ADDRESSES)


def _find_names_below_wildcards(
    session: Session, zone: str, names: Sequence[str]
) -> dict[str, BelowWildcard]:
    # Those that are not there may be answered by one above them: such an answer says too little,
    # and none at all says that there is none.
    owners = _ask_whether_answered(session, zone, wildcards(zone, names))
    if not any(owners.values()):
        return {}
    covered = [name for name in names if any(map(owners.get, wildcards(zone, [name])))]
    above = [owner.removeprefix("*.") for owner, is_answered in owners.items() if is_answered]
    answered = _ask_whether_answered(
        session, zone, [f"{NOBODY}.*.{name}" for name in (*covered, *above)]
    )
    is_there = {name: not answered[f"{NOBODY}.*.{name}"] for name in (*covered, *above)}
    closest: dict[str, tuple[str, str]] = {}
    for name in covered:
        if not is_there[name]:
            hidden = name
            for owner in wildcards(zone, [name]):
                parent = owner.removeprefix("*.")
                if is_there.get(parent):
                    closest[name] = (owner, hidden)
                    break
                hidden = parent
    held = _types_at(session, zone, {owner for owner, _ in closest.values()})
    leads = where_names_lead.ask(session, zone, sorted(held))
    return {
        name: BelowWildcard(owner, held[owner], leads[owner].addresses, hidden)
        for name, (owner, hidden) in closest.items()
    }


def _ask_whether_answered(session: Session, zone: str, names: Sequence[str]) -> Mapping[str, bool]:
    """Whether the zone has anything to say of each name itself: a DNAME above it leads away."""
    subject = f"wildcards of {zone}"
    replies = session.ask_all(
        [dns.message.make_query(name, PROBE, flags=0) for name in names], subject
    )
    answered: dict[str, bool] = {}
    for name, reply in zip(names, replies, strict=True):
        if reply.rcode() not in (dns.rcode.NOERROR, dns.rcode.NXDOMAIN):
            raise said_no(reply.rcode(), session.server, f"{PROBE} of {name}")
        # Without authority it is no answer, but the way to other name servers.
        has_authority = bool(reply.flags & dns.flags.AA)
        is_led_away = any(rrset.rdtype == dns.rdatatype.DNAME for rrset in reply.answer)
        answered[name] = has_authority and not is_led_away and reply.rcode() == dns.rcode.NOERROR
    return answered


def _types_at(session: Session, zone: str, owners: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """The types of the records at each wildcard."""
    questions = [(owner, kind) for owner in sorted(owners) for kind in TYPES]
    replies = session.ask_all(
        [dns.message.make_query(owner, kind, flags=0) for owner, kind in questions],
        f"wildcards of {zone}",
    )
    types: dict[str, dict[str, None]] = {owner: {} for owner, _ in questions}
    for (owner, _), reply in zip(questions, replies, strict=True):
        types[owner] |= dict.fromkeys(
            dns.rdatatype.to_text(rrset.rdtype)
            for rrset in reply.answer
            if rrset.name.to_text().lower() == owner
        )
    return {owner: tuple(kinds) for owner, kinds in types.items()}

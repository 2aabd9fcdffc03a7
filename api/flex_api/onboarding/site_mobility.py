"""What can move each site: DNS, doors, or nothing, and why.

Takes sites, nodes, zones and whom to ask. Returns a verdict for each site. Decides by the code that
makes plans: which names are FLEX's to change, and which sites stay for what leans on them. It is
stricter in two ways, as nobody looks at these settings yet: a name moves only if the world is led
where this primary says, and not if nobody can see what leans on the names of its zone.

Doors can move a site if everybody who asks DNS for it comes to one of the nodes: whichever that is,
its door passes visitors on.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from typing import Literal

import dns.message
import dns.rdatatype

from flex.errors import DnsError
from flex.model.dependents_of_moves import Dependents
from flex.model.led_by_doors_or_dns import Publishing
from flex.model.nodes import Node
from flex.planning import dependents_of_sites, dns_survey
from flex.planning.dependents_text import NOBODY_KNOWS
from flex.planning.dns_survey import OUTSIDE, Reach
from flex.zones import records_of_partition
from flex.zones.names_not_following import OtherName
from flex.zones.records_of_partition import NameAnswer
from flex_dns.rfc2136 import Rfc2136Publisher
from flex_dns.wire.ask_resolver import Resolver
from flex_dns.wire.name_server_and_key import Server
from flex_dns.wire.session import Session
from flex_dns.zone.zones_of_names import zones_of

Way = Literal["dns", "doors", "nothing"]
# Addresses of strangers, or servers of a zone, that a sentence names.
NAMED = 3
# What the reason begins with where the primary's answer is not the world's.
LED_ELSEWHERE = "the world is led to "
NO_KEY = "no key that may read its zone was named"


@dataclass(frozen=True, slots=True)
class Verdict:
    """`why` says what DNS is hindered by, and of what nothing moves also why doors cannot.
    `stay_behind` are other names that do not go along with it.
    """

    way: Way
    why: str = ""
    zone: str = ""
    stay_behind: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Movable:
    """`zones` are those of the primary in which sites have their names, if they were read and the
    world asks them of it; `trouble` says what was not read.
    """

    verdicts: Mapping[str, Verdict]
    zones: tuple[str, ...] = ()
    trouble: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Primary:
    """What a primary says: the zones that it let us read, why it moves no site that has a reason,
    where each site leads, and the names that stay behind.
    """

    reasons: Mapping[str, str]
    zones: tuple[str, ...] = ()
    leads: Mapping[str, Set[str]] = field(default_factory=dict)
    behind: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    trouble: tuple[str, ...] = ()


def judge(
    sites: Sequence[str],
    others: Sequence[OtherName],
    nodes: Sequence[Node],
    server: Server | None,
    owner: str,
    resolver: Resolver,
) -> Movable:
    """Never raises for what name servers say or do not say."""
    primary = _ask_primary(sites, others, nodes, server, owner, resolver)
    there = _where_visitors_go(sites, resolver)
    ours = frozenset(address for node in nodes for address in node.addresses)
    zones = frozenset(primary.zones)
    verdicts = {}
    for site in sites:
        name = records_of_partition.name_of(site)
        why = primary.reasons.get(site) or _why_not_seen(there[site], primary.leads[site])
        verdicts[site] = _verdict(
            why,
            there[site],
            ours,
            records_of_partition.zone_of(name, zones) or "",
            primary.behind.get(site, ()),
        )
    stale = _stale(verdicts.values())
    kept = tuple(zone for zone in primary.zones if zone not in stale)
    return Movable(verdicts, kept, primary.trouble)


def _stale(verdicts: Iterable[Verdict]) -> set[str]:
    """Zones of which the world knows nothing that the primary says: they were taken elsewhere, by a
    customer who named the new servers as the old ones were.
    """
    led, others = set[str](), set[str]()
    for verdict in verdicts:
        (led if verdict.why.startswith(LED_ELSEWHERE) else others).add(verdict.zone)
    return led - others


def _ask_primary(
    sites: Sequence[str],
    others: Sequence[OtherName],
    nodes: Sequence[Node],
    server: Server | None,
    owner: str,
    resolver: Resolver,
) -> _Primary:
    if server is None:
        return _Primary(dict.fromkeys(sites, NO_KEY))
    publisher = Rfc2136Publisher(server, owner)
    try:
        every = _zones(server, [*sites, *(other.name for other in others)])
        bad: dict[str, str] = {}
        try:
            reach = _look(publisher, sites, others, nodes, every)
        except DnsError:
            # One zone that is broken hides no other.
            bad = _unreadable(publisher, every)
            good = [zone for zone in every if zone not in bad]
            reach = _look(publisher, sites, others, nodes, good)
        zones = tuple(zone for zone in every if zone not in bad)
        elsewhere, untold = _not_asked_here(server, zones, resolver)
    except DnsError as error:
        why = f"its zone was not read: {error.answer}"
        return _Primary(dict.fromkeys(sites, why), trouble=(str(error),))
    leads = _addresses(reach)
    return _Primary(
        _why_dns_cannot(reach, sites, nodes, {**elsewhere, **untold, **bad}),
        tuple(zone for zone in zones if zone not in elsewhere),
        {site: frozenset(leads.get(records_of_partition.name_of(site), ())) for site in sites},
        _staying_behind(reach),
        tuple(f"{zone} {why}" for zone, why in bad.items()),
    )


def _unreadable(publisher: Rfc2136Publisher, zones: Sequence[str]) -> dict[str, str]:
    reasons = {}
    for zone in zones:
        try:
            publisher.read(zone, [])
        except DnsError as error:
            reasons[zone] = f"was not read: {error.answer}"
    return reasons


def _zones(server: Server, names: Sequence[str]) -> tuple[str, ...]:
    dns_names = [records_of_partition.name_of(name) for name in names]
    with Session(server) as session:
        name_zones = zones_of(session, server, list(dict.fromkeys(dns_names)))
    # A server that answers for the root or a whole top level has no zone of ours there.
    return tuple(sorted({zone for zone in name_zones.values() if zone.count(".") > 1}))


def _look(
    publisher: Rfc2136Publisher,
    sites: Sequence[str],
    others: Sequence[OtherName],
    nodes: Sequence[Node],
    zones: Sequence[str],
) -> Reach:
    reach = dns_survey.look(
        publisher,
        sites,
        nodes,
        zones,
        adopt=True,
        others=others,
        publishing=Publishing(),
        dependents=True,
        follow=True,
    )
    stay = dependents_of_sites.reasons_to_stay(reach, sites, nodes, Dependents("refuse"))
    return dns_survey.leave_out_names(reach, stay, sites, nodes)


def _why_dns_cannot(
    reach: Reach, sites: Sequence[str], nodes: Sequence[Node], hindered: Mapping[str, str]
) -> dict[str, str]:
    """`hindered` are zones in which no name can be changed, or by no change that anybody sees."""
    # Of these nobody can see all that leans on their names.
    unseen = {*reach.unlooked, *reach.unasked}
    every = {*reach.states, *hindered}
    reasons = {name: why for of_zone in reach.foreign.values() for name, why in of_zone.items()}
    immovable = reach.immovable_sites
    leads = _addresses(reach)
    ours = {address for node in nodes for address in node.addresses}
    why: dict[str, str] = {}
    for site in sites:
        name = records_of_partition.name_of(site)
        zone = records_of_partition.zone_of(name, every)
        if zone is None:
            why[site] = OUTSIDE.replace("the settings", "this primary")
        elif zone in hindered:
            why[site] = f"its zone {hindered[zone]}"
        elif site in immovable:
            strange = sorted(leads.get(name, set()) - ours)
            reason = reach.out.get(site) or reasons.get(name, "")
            # What the core calls somebody else's are addresses of somebody else here.
            why[site] = f"it leads to {_few(strange)}, no node's" if strange else reason
        elif zone in unseen and leads.get(name):
            why[site] = f"a move {NOBODY_KNOWS}"
    return why


def _addresses(reach: Reach) -> dict[str, set[str]]:
    leads: dict[str, set[str]] = {}
    for state in reach.states.values():
        rows = zip(state.records["name"], state.records["value"], strict=True)
        for name, value in rows:
            leads.setdefault(str(name), set()).add(str(value))
    return leads


def _why_not_seen(there: NameAnswer, published: Set[str]) -> str:
    """What is changed at the primary moves nobody who is led elsewhere."""
    if there.unknown:
        return f"where the world is led is not known ({there.unknown})"
    if set(there.addresses) == published:
        return ""
    world = _few(sorted(there.addresses)) or "nowhere"
    return f"{LED_ELSEWHERE}{world}, and its primary says {_few(sorted(published)) or 'nothing'}"


def _not_asked_here(
    server: Server, zones: Sequence[str], resolver: Resolver
) -> tuple[dict[str, str], dict[str, str]]:
    """Zones that this primary has and the world asks of others: what is changed here nobody sees.
    And those of which nobody could tell.
    """
    ours = _servers_named(server, zones)
    elsewhere: dict[str, str] = {}
    untold: dict[str, str] = {}
    for zone, answer in resolver.name_servers_of(zones).items():
        if not answer.is_known:
            untold[zone] = f"may be asked of others, nobody could tell ({answer.why})"
        elif not answer.values:
            elsewhere[zone] = f"is served by nobody in the world ({answer.why})"
        elif ours.get(zone, frozenset()).isdisjoint(answer.values):
            elsewhere[zone] = f"is asked of {_few(answer.values)}, not of this primary"
    return elsewhere, untold


def _servers_named(server: Server, zones: Sequence[str]) -> dict[str, frozenset[str]]:
    questions = [dns.message.make_query(zone, "NS", flags=0) for zone in zones]
    with Session(server) as session:
        answers = session.ask_all(questions, f"name servers of {len(zones)} zones")
    return {
        zone: frozenset(
            rdata.to_text().lower()
            for rrset in answer.answer
            if rrset.rdtype == dns.rdatatype.NS
            for rdata in rrset
        )
        for zone, answer in zip(zones, answers, strict=True)
    }


def _where_visitors_go(sites: Sequence[str], resolver: Resolver) -> dict[str, NameAnswer]:
    names = [records_of_partition.name_of(site) for site in sites]
    answers = resolver.addresses_of(names)
    return {site: answers[name] for site, name in zip(sites, names, strict=True)}


def _staying_behind(reach: Reach) -> dict[str, tuple[str, ...]]:
    names: dict[str, list[str]] = {}
    left: Iterable[OtherName] = (
        *(stray.other for stray in reach.others.strays),
        *reach.others.unseen,
    )
    for other in left:
        names.setdefault(other.site, []).append(other.name)
    return {site: tuple(sorted(set(of_site))) for site, of_site in names.items()}


def _verdict(
    why: str, there: NameAnswer | None, ours: Set[str], zone: str, behind: tuple[str, ...]
) -> Verdict:
    if not why:
        return Verdict("dns", zone=zone, stay_behind=behind)
    hindered = _why_doors_cannot(there, ours)
    if not hindered:
        return Verdict("doors", why, zone)
    # That it leads elsewhere is said once.
    reason = why if why.startswith("it leads to ") else f"{why}; {hindered}"
    return Verdict("nothing", reason, zone)


def _why_doors_cannot(there: NameAnswer | None, ours: Set[str]) -> str:
    if there is None or there.unknown:
        return f"where visitors go is not known ({there.unknown if there else 'not asked'})"
    if not there.addresses:
        return "its name leads to no address"
    strange = sorted(set(there.addresses) - ours)
    return f"visitors go to {_few(strange)}, no node's" if strange else ""


def _few(values: Sequence[str]) -> str:
    more = f" and {len(values) - NAMED} more" if len(values) > NAMED else ""
    return ", ".join(text.rstrip(".") for text in values[:NAMED]) + more

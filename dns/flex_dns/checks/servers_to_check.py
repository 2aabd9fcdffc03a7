"""Which servers answer for a zone: its NS records, followed to addresses.

Takes a primary and a zone. Returns the servers to check, the primary first. The primary is asked
for names in its own zones, the system's resolver for all others, for a bounded time. Does not fail
on a name without an address: the name is returned instead, and whoever asks it will find out.
"""

from __future__ import annotations

import socket
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor

import dns.exception
import dns.flags
import dns.message
import dns.rdatatype
import dns.resolver

from flex.errors import DnsError
from flex_dns.checks import verify
from flex_dns.wire.name_server_and_key import Address, Server
from flex_dns.wire.zone_contents import Question

# Servers of one zone that are asked. A guess: with many more the NS records would not fit a packet.
MOST = 13


def servers_to_check(server: Server, zone: str) -> tuple[Address, ...]:
    """The primary, and every other server that the zone names. Where the primary is silent nobody
    else is known.
    """
    try:
        name_servers = addresses_of_name_servers(server, zone)
    except DnsError:
        name_servers = {}
    others = dict.fromkeys(address for addresses in name_servers.values() for address in addresses)
    ours = _own(server)
    return (server.address, *(address for address in others if address[0] not in ours))


def addresses_of_name_servers(server: Server, zone: str) -> dict[str, tuple[Address, ...]]:
    """Each name server's addresses, by name, at the primary's port. Raises a DnsError where the
    primary is silent.
    """
    answer = verify.ask(server.address, [(zone, "NS")], server.timeout)[zone, "NS"]
    names = sorted(_targets(answer, zone))[:MOST]
    known = _addresses_by_primary(server, names)
    with ThreadPoolExecutor(MOST) as threads:
        hosts = threads.map(
            lambda name: known[name] or _resolve(name, server.timeout) or (name,), names
        )
        addresses: dict[str, tuple[Address, ...]] = {}
        for name, of_name in zip(names, hosts, strict=True):
            addresses[name] = tuple((host, server.port) for host in of_name)
        return addresses


def names_of_servers(server: Server, zones: Sequence[str]) -> dict[str, frozenset[str]]:
    """The names alone that zones have for their servers; none for a zone that it does not serve.
    Raises a DnsError.
    """
    answers = verify.ask(server.address, [(zone, "NS") for zone in zones], server.timeout)
    return {zone: frozenset(_targets(answers[zone, "NS"], zone)) for zone in zones}


def _targets(answer: dns.message.Message, zone: str) -> set[str]:
    return {
        rdata.to_text().lower()
        for rrset in answer.answer
        if rrset.rdtype == dns.rdatatype.NS and rrset.name.to_text().lower() == zone
        for rdata in rrset
    }


def _addresses_by_primary(server: Server, names: Sequence[str]) -> Mapping[str, tuple[str, ...]]:
    """What the primary itself answers for."""
    questions: list[Question] = [(name, kind) for name in names for kind in ("A", "AAAA")]
    answers = verify.ask(server.address, questions, server.timeout) if questions else {}
    return {
        name: _addresses(answers[name, "A"]) or _addresses(answers[name, "AAAA"]) for name in names
    }


def _addresses(answer: dns.message.Message) -> tuple[str, ...]:
    """IPv4 alone where there is any: not every controller has a way for the other."""
    if not answer.flags & dns.flags.AA:
        return ()
    kinds = (dns.rdatatype.A, dns.rdatatype.AAAA)
    return tuple(
        rdata.to_text() for rrset in answer.answer if rrset.rdtype in kinds for rdata in rrset
    )


def _resolve(name: str, patience: float) -> tuple[str, ...]:
    for kind in ("A", "AAAA"):
        try:
            answer = dns.resolver.resolve(name, kind, lifetime=patience, search=False)
        except (dns.exception.DNSException, OSError):
            continue
        return tuple(rdata.to_text() for rdata in answer)
    return ()


def _own(server: Server) -> frozenset[str]:
    """All addresses of the primary: among the zone's name servers it goes by one of them."""
    try:
        address_infos = socket.getaddrinfo(*server.address, type=socket.SOCK_DGRAM)
    except OSError:
        return frozenset({server.host})
    return frozenset({server.host, *(str(peer[0]) for *_, peer in address_infos)})

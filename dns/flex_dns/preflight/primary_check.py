"""Whether a primary would do what FLEX will ask of it, found out before the first night.

Takes a server and a zone. Returns results. Does not change anything: the updates sent here delete
records that are not there.
"""

from __future__ import annotations

import socket
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

import dns.flags
import dns.message
import dns.rcode
import dns.rdatatype
import dns.update
from dns.rdtypes.ANY.TSIG import TSIG

from flex.errors import DnsError, Refused
from flex.zones.address_hints import HINTED
from flex.zones.marker import marker_name
from flex_dns.checks import servers_to_check, verify
from flex_dns.preflight import PreflightResult, excessive_key_rights
from flex_dns.server_configuration.named_conf_lines import PRIMARY_OPTIONS, PRINTED
from flex_dns.update import fence, key_permissions
from flex_dns.wire.explain_dns_errors import said_no, translate_errors
from flex_dns.wire.name_server_and_key import Address, Server, address_text
from flex_dns.wire.session import Clock, Session
from flex_dns.zone import sets_from_primary
from flex_dns.zone.transfer import may_transfer

# Seconds by which two clocks may differ before we warn. A guess: a signature is good for 300
# seconds, and clocks that are this far apart will soon be as far as that.
APART = 30


@dataclass(frozen=True, slots=True)
class ExpectedOfPrimary:
    """What is to be checked: `verified` are all servers that are asked after a change, the zone's
    own where none are named and it `follows` them; `controller` is who we are; `own_name` whether a
    site is called as the zone is.
    """

    verified: Sequence[Address] = ()
    follows: bool = True
    controller: str = ""
    own_name: bool = False


PLAIN = ExpectedOfPrimary()


def preflight(
    server: Server, zone: str, clock: Clock = time.time, wanted: ExpectedOfPrimary = PLAIN
) -> tuple[PreflightResult, ...]:
    """Every check that makes sense after the ones before it: a closed port ends the list. Never a
    DnsError.
    """
    preflight_results = tuple(_checks(server, zone, clock, wanted))
    named = tuple(
        _other(server, other, zone) for other in wanted.verified if other != server.address
    )
    return (
        *preflight_results,
        *named,
        *(_name_servers(server, zone, wanted) if len(preflight_results) > 1 else ()),
    )


def _name_servers(
    server: Server, zone: str, wanted: ExpectedOfPrimary
) -> Iterator[PreflightResult]:
    """The zone's own: each should be checked after a change, and should answer."""
    follows = wanted.follows and not wanted.verified
    known = {host for host, _ in (server.address, *wanted.verified)}
    try:
        name_servers = servers_to_check.addresses_of_name_servers(server, zone)
    except DnsError as error:
        yield PreflightResult("name servers", "warn", str(error), error.advice)
        return
    for name, addresses in name_servers.items():
        for address in addresses if not known & {host for host, _ in addresses} else ():
            yield (
                _check_follower(server, zone, name, address)
                if follows
                else _unchecked_server(name, address)
            )


def _check_follower(server: Server, zone: str, name: str, address: Address) -> PreflightResult:
    preflight_result = _other(server, address, zone)
    if preflight_result.state == "ok":
        return replace(preflight_result, name=f"name server {name}")
    advice = (
        "let this machine reach it; or name the servers to check in dns.verify, "
        "or set dns.verify_ns = false"
    )
    return PreflightResult(f"name server {name}", "warn", preflight_result.detail, advice)


def _unchecked_server(name: str, address: Address) -> PreflightResult:
    detail = f"the zone names it, and after a change {address_text(address)} is not asked"
    return PreflightResult(
        f"name server {name}", "warn", detail, f'add "{address_text(address)}" to dns.verify'
    )


def choose_key(servers: Sequence[Server], zones: Sequence[str]) -> Server:
    """One server stands here with several keys. The first whose key it knows; with none of them, or
    no answer, the first.
    """
    for server in servers if zones else ():
        with Session(server) as session, suppress(DnsError):
            sets_from_primary.soa_serial(session, server, zones[0])
            return server
    return servers[0]


def _checks(
    server: Server, zone: str, clock: Clock, wanted: ExpectedOfPrimary
) -> Iterator[PreflightResult]:
    reached = _try("TCP", lambda: _tcp(server))
    yield reached
    if reached.state == "fail":
        return
    yield _try("UDP", lambda: _udp(server, zone))
    with Session(server, clock) as session:
        signed = _try("key", lambda: _key(session, server, zone))
        yield signed
        if signed.state == "fail":
            return
        yield _clock(session, zone, clock)
        served = _try(
            "zone", lambda: f"serial {sets_from_primary.soa_serial(session, server, zone)}"
        )
        yield served
        if served.state == "fail":
            return
        yield _transfer(server, zone, clock)
        name = key_permissions.unused_name(zone)
        yield _try(
            "addresses",
            lambda: key_permissions.may_change(session, server, zone, name, "A", "AAAA"),
        )
        if server.hints:
            yield _try(
                "address hints",
                lambda: key_permissions.may_change(session, server, zone, name, *HINTED),
            )
        yield _try(
            "markers",
            lambda: key_permissions.may_change(
                session, server, zone, marker_name(name, zone), "TXT"
            ),
        )
        yield from _limits(session, zone, own_name=wanted.own_name)
        if wanted.controller:
            yield _try("controller", lambda: _holder_text(session, server, zone, wanted.controller))
        yield _try("signing", lambda: _signing(session, server, zone))


def _try(name: str, check: Callable[[], str]) -> PreflightResult:
    try:
        return PreflightResult(name, "ok", check())
    except DnsError as error:
        return PreflightResult(name, "fail", str(error), error.advice)


def _tcp(server: Server) -> str:
    with (
        translate_errors(server, "connection"),
        socket.create_connection(server.address, server.timeout),
    ):
        return f"{server} takes connections"


def _udp(server: Server, zone: str) -> str:
    verify.ask(server.address, [(zone, "SOA")], server.timeout)
    return f"{server} answers"


def _key(session: Session, server: Server, zone: str) -> str:
    session.ask(dns.message.make_query(zone, "SOA", flags=0), f"SOA of {zone}")
    return f"{server.key.name} with {server.key.algorithm} is accepted"


def _clock(session: Session, zone: str, clock: Clock) -> PreflightResult:
    answer = session.ask(dns.message.make_query(zone, "SOA", flags=0), f"SOA of {zone}")
    assert answer.tsig is not None, "the session takes no unsigned answers"
    tsig = answer.tsig[0]
    assert isinstance(tsig, TSIG)
    apart = abs(tsig.time_signed - int(clock()))
    detail = f"{apart} seconds apart, at most 300 are allowed"
    if apart > APART:
        return PreflightResult(
            "clock", "warn", detail, "bring both clocks in step (`timedatectl set-ntp true`)"
        )
    return PreflightResult("clock", "ok", detail)


def _transfer(server: Server, zone: str, clock: Clock) -> PreflightResult:
    try:
        # On a connection of its own, as the rest of the transfer is not waited for.
        with Session(server.reading, clock) as session:
            rcode = may_transfer(session, zone)
    except DnsError as error:
        return PreflightResult("transfer", "fail", str(error), error.advice)
    if rcode == dns.rcode.NOERROR:
        return PreflightResult("transfer", "ok", "the zone can be read at once")
    return PreflightResult(
        "transfer",
        "warn",
        f"{dns.rcode.to_text(rcode)}: each name is asked for by itself, and names "
        "under a wildcard seem to be taken",
        f"allow-transfer {{ key {server.reading.key.name}; }}; in the zone's clause; {PRINTED}",
    )


def _holder_text(session: Session, server: Server, zone: str, controller: str) -> str:
    holder = fence.holders(session, server, [zone])[zone]
    if holder and holder != controller:
        raise fence.held_error(server, zone, holder)
    return "no other controller changes the zone"


def _limits(session: Session, zone: str, *, own_name: bool) -> Iterator[PreflightResult]:
    try:
        servers = list(servers_to_check.addresses_of_name_servers(session.server, zone))
        yield from excessive_key_rights.checks(session, zone, servers, own_name=own_name)
    except DnsError as error:
        yield PreflightResult("limits of the key", "fail", str(error), error.advice)


def _signing(session: Session, server: Server, zone: str) -> str:
    """A zone that is signed beside the one that takes updates has its keys only in the signed
    one.
    """
    subject = f"DNSKEY of {zone}"
    answer = session.ask(dns.message.make_query(zone, "DNSKEY", flags=0), subject)
    if not any(rrset.rdtype == dns.rdatatype.DNSKEY for rrset in answer.answer):
        return "the zone is not signed"
    update = dns.update.UpdateMessage(zone)
    update.present(zone, "DNSKEY")
    update.delete(key_permissions.unused_name(zone), "A")
    rcode = session.ask(update, subject).rcode()
    if rcode == dns.rcode.NXRRSET:
        raise Refused(
            f"asking {server}: {subject}",
            "the zone is signed with inline-signing yes: after many changes at once "
            "it can go on serving old records",
            advice="inline-signing no; in the zone's clause beside its "
            "dnssec-policy, then `rndc reconfig`",
        )
    if rcode != dns.rcode.NOERROR:
        raise said_no(rcode, server, subject)
    return "the zone is signed in place"


def _other(server: Server, other: Address, zone: str) -> PreflightResult:
    """A server that follows the primary, or should."""
    name = f"server {address_text(other)}"
    try:
        here, there = (
            _serial(address, zone, server.timeout) for address in (server.address, other)
        )
    except DnsError as error:
        return PreflightResult(name, "fail", str(error), error.advice)
    if here is None or there is None:
        advice = "add the zone to it as a secondary, or take it out of dns.verify"
        return PreflightResult(
            name, "fail", f"it does not answer for {zone} with authority", advice
        )
    if here == there:
        return PreflightResult(name, "ok", f"serial {there}, as the primary")
    advice = (
        "see that the primary notifies it and lets it transfer; named.conf: "
        f"{PRIMARY_OPTIONS.splitlines()[0]}"
    )
    return PreflightResult(name, "warn", f"serial {there}, the primary has {here}", advice)


def _serial(address: Address, zone: str, timeout: float) -> int | None:
    answer = verify.ask(address, [(zone, "SOA")], timeout)[zone, "SOA"]
    return verify.serial_of(answer) if answer.flags & dns.flags.AA else None

"""The record that keeps a second controller out: who may change a zone, written in the zone itself.

In go a zone and who we are; out comes the prerequisite that every message carries. Who copied our settings and database
to another machine is refused by the name server, whatever he believes; nothing is taken from anybody here.
"""

from __future__ import annotations

from collections.abc import Sequence

import dns.message
import dns.rcode
import dns.rdatatype
import dns.update
from dns.rdtypes.ANY.TXT import TXT

from flex.errors import Refused
from flex.marker import LABEL
from flex_dns.server import Server
from flex_dns.session import Session
from flex_dns.trouble import UNCHANGED, not_granted, said_no

PREFIX = "flex controller="
NAME = "_controller"
TTL = 60


def fence_name(zone: str) -> str:
    """Among our markers, where the key may write; no host name begins so, so it is no site's marker."""
    return f"{NAME}.{LABEL}.{zone}"


def fence_text(controller: str) -> str:
    return f"{PREFIX}{controller}"


def holders(session: Session, server: Server, zones: Sequence[str]) -> dict[str, str]:
    """The controller that each zone is held by; empty where it is free."""
    asked = f"controller of {zones[0]}"
    queries = [dns.message.make_query(fence_name(zone), "TXT", flags=0) for zone in zones]
    return {
        zone: _said(server, zone, answer) for zone, answer in zip(zones, session.ask_all(queries, asked), strict=True)
    }


def hold(session: Session, server: Server, zones: Sequence[str], controller: str) -> None:
    """Make sure that each zone is ours, or free and then ours. Raises Refused where another controller holds one."""
    nobodys = free(session, server, zones, controller)
    for zone in nobodys:
        _take(session, server, zone, controller)
    for zone in free(session, server, nobodys, controller) if nobodys else ():
        raise held(server, zone, "")


def free(session: Session, server: Server, zones: Sequence[str], controller: str) -> list[str]:
    """Those of the zones that nobody holds. Raises Refused where another controller holds one."""
    found = holders(session, server, zones)
    for zone, by in found.items():
        if by not in ("", controller):
            raise held(server, zone, by)
    return [zone for zone, by in found.items() if not by]


def take_over(session: Session, server: Server, zone: str, controller: str, was: str) -> None:
    """The zone is ours from now on, if it is `was` who holds it still. Raises Refused otherwise."""
    asked = f"taking {zone} over from {was}"
    update = dns.update.UpdateMessage(zone)
    update.present(fence_name(zone), "TXT", f'"{fence_text(was)}"')
    update.replace(fence_name(zone), TTL, "TXT", f'"{fence_text(controller)}"')
    rcode = session.ask(update, asked).rcode()
    if rcode == dns.rcode.REFUSED:
        raise not_granted(server, zone, asked)
    if rcode == dns.rcode.NXRRSET:
        raise held(server, zone, holders(session, server, [zone])[zone])
    if rcode != dns.rcode.NOERROR:
        raise said_no(rcode, server, asked)


def _said(server: Server, zone: str, answer: dns.message.Message) -> str:
    """A text of another form is no controller's: a wildcard's stands for all names that are not there."""
    if answer.rcode() not in (dns.rcode.NOERROR, dns.rcode.NXDOMAIN):
        raise said_no(answer.rcode(), server, f"controller of {zone}")
    texts = [
        b"".join(rdata.strings).decode(errors="replace")
        for rrset in answer.answer
        if rrset.rdtype == dns.rdatatype.TXT and rrset.name.to_text().lower() == fence_name(zone)
        for rdata in rrset
        if isinstance(rdata, TXT)
    ]
    return next((text.removeprefix(PREFIX) for text in texts if text.startswith(PREFIX)), "")


def held(server: Server, zone: str, by: str) -> Refused:
    return Refused(
        f"asking {server}: whether we may change {zone}",
        f"another controller holds it: {by or 'somebody took our record away'}",
        kept=UNCHANGED,
        advice=f"stop one of the two; if that one is gone for good: `flex dns takeover --from '{by}'`"
        if by
        else "another controller may be about to take it; `flex dns holders` says who has it",
    )


def _take(session: Session, server: Server, zone: str, controller: str) -> None:
    """Whoever comes first has it: the name server sees to that."""
    asked = f"taking {zone} for {controller}"
    update = dns.update.UpdateMessage(zone)
    update.absent(fence_name(zone), "TXT")
    update.add(fence_name(zone), TTL, "TXT", f'"{fence_text(controller)}"')
    rcode = session.ask(update, asked).rcode()
    if rcode == dns.rcode.REFUSED:
        raise not_granted(server, zone, asked)
    if rcode not in (dns.rcode.NOERROR, dns.rcode.YXRRSET):
        raise said_no(rcode, server, asked)

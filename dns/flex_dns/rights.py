"""What the key could do in a zone and should not, tried live.

In go a session and a zone; out come Checks. Each try is an update that takes away a record that is not there, so that
the policy is asked and nothing is changed.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Sequence
from typing import TypeAlias

import dns.rcode
import dns.update

from flex.remarks import some
from flex_dns.bind import update_policy
from flex_dns.check import Check
from flex_dns.session import Session
from flex_dns.trouble import not_granted, said_no

# What no host, mail server or text is called.
NOBODYS = {
    "A": "255.255.255.255",
    "AAAA": "ff00::",
    "CNAME": "flex-preflight.invalid.",
    "MX": "65535 flex-preflight.invalid.",
    "NS": "flex-preflight.invalid.",
    "TXT": '"flex preflight"',
}
# A zone, a name in it, and a type.
Try: TypeAlias = tuple[str, str, str]
LIMITS = "limits of the key"
OF_ZONE = ("NS", "MX", "TXT")
OF_NAMES = ("CNAME", "MX", "NS", "TXT")
OF_SERVERS = ("A", "AAAA")


def checks(session: Session, zone: str, servers: Sequence[str], *, own_name: bool) -> Iterator[Check]:
    """`servers` are the name servers of the zone, `own_name` whether a site is called as the zone is."""
    key = session.server.key.name
    within = [name for name in servers if name.endswith(f".{zone}")]
    policy = update_policy(zone, key, within, own_name=own_name)
    tries = [
        *((zone, zone, kind) for kind in OF_ZONE),
        *((zone, f"flex-preflight-{secrets.token_hex(8)}.{zone}", kind) for kind in OF_NAMES),
        *((zone, name, kind) for name in within for kind in OF_SERVERS),
    ]
    granted = [
        f"{kind} of {_shown(name)}"
        for (_, name, kind), may in zip(tries, _granted(session, tries, LIMITS), strict=True)
        if may
    ]
    if granted:
        said = f"the key {key} may change {', '.join(granted)}"
        yield Check(LIMITS, "fail", said, f"put this into the zone's clause in named.conf:\n{policy}")
    else:
        said = "it may change no CNAME, MX, NS or other TXT, nor the name servers' addresses"
        yield Check(LIMITS, "ok", said)
    yield _own_name(session, zone, policy, own_name=own_name)


def _own_name(session: Session, zone: str, policy: str, *, own_name: bool) -> Check:
    name, bare = "own name", zone.rstrip(".")
    may = all(_granted(session, [(zone, zone, "A"), (zone, zone, "AAAA")], LIMITS))
    if may and own_name:
        return Check(name, "ok", f"the site {bare} is called as its zone is, and may be moved")
    if not may and not own_name:
        return Check(name, "ok", f"no site is called {bare}, and its addresses may not be changed")
    if may:
        said = f"no site is called {bare}, and the key may change its addresses all the same"
        return Check(name, "fail", said, f"put this into the zone's clause in named.conf:\n{policy}")
    said = f"the site {bare} is called as its zone is, and its addresses may not be changed"
    return Check(name, "fail", said, f"take `deny ... name {zone} ANY;` out of the zone's update-policy")


def refuse_denied(session: Session, tries: Sequence[Try]) -> None:
    """Raises what the server says to a change of nothing: a key that may not, a frozen zone."""
    asked = "what is to be changed, before anything is sent"
    for (zone, name, _), may in zip(tries, _granted(session, tries, asked), strict=True):
        if not may:
            raise not_granted(session.server, zone, asked, [name])


def _granted(session: Session, tries: Sequence[Try], asked: str) -> list[bool]:
    """Only a refusal says that something is not granted; of any other trouble nothing follows."""
    zones = some(list(dict.fromkeys(zone for zone, _, _ in tries)))
    answers = session.ask_all([_away(*one) for one in tries], f"{asked} in {zones}")
    rcodes = [answer.rcode() for answer in answers]
    for (zone, _, _), rcode in zip(tries, rcodes, strict=True):
        if rcode not in (dns.rcode.NOERROR, dns.rcode.REFUSED):
            raise said_no(rcode, session.server, f"{asked} in {zone}")
    return [rcode == dns.rcode.NOERROR for rcode in rcodes]


def _away(zone: str, name: str, kind: str) -> dns.update.UpdateMessage:
    made = dns.update.UpdateMessage(zone)
    made.delete(name, kind, NOBODYS[kind])
    return made


def _shown(name: str) -> str:
    return "any name" if name.startswith("flex-preflight-") else name

"""What a key may do in a zone and should not be allowed to do, tried live.

Takes a session and a zone. Returns results. Does not change anything: each try is an update that
deletes a record that is not there, so the server decides by its policy and the zone stays as it is.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Sequence
from typing import TypeAlias

import dns.message
import dns.rcode
import dns.update

from flex.errors import Refused
from flex.site_names_in_words import first_few
from flex.zones.address_hints import HINTED
from flex_dns.preflight import PreflightResult
from flex_dns.server_configuration.named_conf_lines import PRINTED, update_policy
from flex_dns.wire.explain_dns_errors import disowned, not_granted, said_no
from flex_dns.wire.session import Session

# Values that no real record has, for each type.
NOBODYS = {
    "A": "255.255.255.255",
    "AAAA": "ff00::",
    "HTTPS": "65535 flex-preflight.invalid.",
    "SVCB": "65535 flex-preflight.invalid.",
    "CNAME": "flex-preflight.invalid.",
    "MX": "65535 flex-preflight.invalid.",
    "NS": "flex-preflight.invalid.",
    "TXT": '"flex preflight"',
}
# A zone, a name in it, and a type.
Try: TypeAlias = tuple[str, str, str]
# What these checks are called in their messages.
LIMITS = "limits of the key"
PUT_IN = f"put this into the zone's clause in named.conf ({PRINTED})"
# Types that the key should not change at the zone's own name.
OF_ZONE = ("NS", "MX", "TXT")
# Types that the key should not change at any other name; nor HTTPS and SVCB where no hints follow.
OF_NAMES = ("CNAME", "MX", "NS", "TXT")
# Types that the key should not change at the name of a name server; nor those where hints follow.
OF_SERVERS = ("A", "AAAA")


def checks(
    session: Session, zone: str, servers: Sequence[str], *, own_name: bool
) -> Iterator[PreflightResult]:
    """`servers` are the name servers of the zone, `own_name` whether a site is called as the zone
    is.
    """
    key = session.server.key.name
    within = [name for name in servers if name.endswith(f".{zone}")]
    policy = update_policy(zone, key, within, own_name=own_name, hints=session.server.hints)
    of_names, of_servers = (
        (OF_NAMES, (*OF_SERVERS, *HINTED))
        if session.server.hints
        else ((*OF_NAMES, *HINTED), OF_SERVERS)
    )
    tries = [
        *((zone, zone, kind) for kind in OF_ZONE),
        *((zone, f"flex-preflight-{secrets.token_hex(8)}.{zone}", kind) for kind in of_names),
        *((zone, name, kind) for name in within for kind in of_servers),
    ]
    granted = [
        f"{kind} of {_name_for_people(name)}"
        for (_, name, kind), may in zip(
            tries, _which_are_granted(session, tries, LIMITS), strict=True
        )
        if may
    ]
    if granted:
        detail = f"the key {key} may change {', '.join(granted)}"
        yield PreflightResult(LIMITS, "fail", detail, f"{PUT_IN}:\n{policy}")
    elif _hidden(session, zone):
        detail = (
            "no CNAME, MX, NS, other TXT or address of a name server by itself; "
            "beside addresses of other names the "
        )
        detail += "server lets some of them pass, as it looks at each message as a whole"
        yield PreflightResult(
            LIMITS,
            "warn",
            detail,
            "let nobody but FLEX have the key; BIND's rules hold for each record",
        )
    else:
        detail = "it may change no CNAME, MX, NS or other TXT, nor the name servers' addresses"
        yield PreflightResult(LIMITS, "ok", detail)
    yield _own_name(session, zone, policy, own_name=own_name)


def _hidden(session: Session, zone: str) -> bool:
    """Whether a text that may not be changed by itself may be in one message with an address: so it
    is in Knot DNS.
    """
    name = f"flex-preflight-{secrets.token_hex(8)}.{zone}"
    update = _away(zone, name, "A")
    update.delete(name, "TXT", NOBODYS["TXT"])
    try:
        return session.ask(update, f"{LIMITS} in {zone}").rcode() == dns.rcode.NOERROR
    except Refused as error:
        if not disowned(error):
            raise
        return False


def _own_name(session: Session, zone: str, policy: str, *, own_name: bool) -> PreflightResult:
    name, bare = "own name", zone.rstrip(".")
    may = all(_which_are_granted(session, [(zone, zone, "A"), (zone, zone, "AAAA")], LIMITS))
    if may and own_name:
        return PreflightResult(
            name, "ok", f"the site {bare} is called as its zone is, and may be moved"
        )
    if not may and not own_name:
        return PreflightResult(
            name, "ok", f"no site is called {bare}, and its addresses may not be changed"
        )
    if may:
        detail = f"no site is called {bare}, and the key may change its addresses all the same"
        return PreflightResult(name, "fail", detail, f"{PUT_IN}:\n{policy}")
    detail = f"the site {bare} is called as its zone is, and its addresses may not be changed"
    return PreflightResult(
        name,
        "fail",
        detail,
        f"take `deny ... name {zone} ANY;` out of the zone's update-policy; {PRINTED}",
    )


def refuse_denied(session: Session, tries: Sequence[Try]) -> None:
    """Raises what the server says to a change of nothing: a key that may not, a frozen zone."""
    subject = "what is to be changed, before anything is sent"
    for (zone, name, kind), may in zip(
        tries, _which_are_granted(session, tries, subject), strict=True
    ):
        if not may:
            hints = ", to change its address hints" if kind in HINTED else ""
            right = f"the right to change {kind} of {name}{hints}, before anything is sent"
            raise not_granted(session.server, zone, right, [name], [kind])


def _which_are_granted(session: Session, tries: Sequence[Try], subject: str) -> list[bool]:
    """Only a refusal says that something is not granted; of any other trouble nothing follows."""
    zones = first_few(list(dict.fromkeys(zone for zone, _, _ in tries)))
    try:
        answers = session.ask_all([_away(*attempt) for attempt in tries], f"{subject} in {zones}")
    except Refused as error:
        if not disowned(error):
            raise
        return [_alone(session, attempt, subject) for attempt in tries]
    return [
        _may(session, attempt, subject, answer)
        for attempt, answer in zip(tries, answers, strict=True)
    ]


def _may(session: Session, attempt: Try, subject: str, answer: dns.message.Message) -> bool:
    rcode = answer.rcode()
    if rcode not in (dns.rcode.NOERROR, dns.rcode.REFUSED):
        raise said_no(rcode, session.server, f"{subject} in {attempt[0]}")
    return rcode == dns.rcode.NOERROR


def _alone(session: Session, attempt: Try, subject: str) -> bool:
    """Knot DNS says that it does not know the key to what the key may not do, and knows it for what
    it may.
    """
    try:
        return _may(
            session, attempt, subject, session.ask(_away(*attempt), f"{subject} in {attempt[0]}")
        )
    except Refused as error:
        if not disowned(error):
            raise
    session.ask(dns.message.make_query(attempt[0], "SOA", flags=0), f"SOA of {attempt[0]}")
    return False


def _away(zone: str, name: str, kind: str) -> dns.update.UpdateMessage:
    update = dns.update.UpdateMessage(zone)
    update.delete(name, kind, NOBODYS[kind])
    return update


def _name_for_people(name: str) -> str:
    return "any name" if name.startswith("flex-preflight-") else name

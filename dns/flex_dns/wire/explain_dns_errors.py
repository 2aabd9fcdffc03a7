"""What went wrong with a name server, in words that say what to do next.

Takes exceptions of dnspython and of the system, and answers that say no. Returns one DnsError for
each. Does not show a secret: an exception is quoted only where its text is known to hold none.
"""

from __future__ import annotations

import socket
import struct
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

import dns.exception
import dns.message
import dns.name
import dns.rcode
import dns.rdatatype
import dns.tsig

from flex.errors import DnsError, Refused, Unreachable
from flex.zones.address_hints import HINTED
from flex_dns.server_configuration.named_conf_lines import PRINTED, update_policy
from flex_dns.wire.messages import Unfit
from flex_dns.wire.name_server_and_key import Server

UNCHANGED = "nothing was changed"


@dataclass(frozen=True, slots=True)
class Meaning:
    kind: type[DnsError]
    answer: str
    advice: str


NOT_OURS = Meaning(
    Unreachable,
    "what answered there is not the name server we know",
    "check host and port: something else may listen there, or a middlebox changes the messages",
)
BAD_SIGNATURE = Meaning(
    Refused,
    "the key's secret is another one there",
    "copy the key file from the name server again; the secrets differ though the names agree",
)
BAD_KEY = Meaning(
    Refused,
    "the name server does not know this key, or knows it with another algorithm",
    "add the key clause to named.conf with the same name and algorithm, then `rndc "
    "reconfig`; Knot DNS says this also "
    f"of what a key may not do. {PRINTED}",
)
BAD_TIME = Meaning(
    Refused,
    "its clock and ours are more than five minutes apart",
    "bring both clocks in step (`timedatectl set-ntp true`) and try again",
)
SILENT = Meaning(
    Unreachable,
    "no answer in time",
    "check that the name server runs and that a firewall lets TCP and UDP to that port through",
)
CLOSED = Meaning(
    Unreachable,
    "the connection was refused",
    "check that the name server runs and listens on this address and port over TCP",
)
LOST = Meaning(
    Unreachable,
    "the connection broke before the answer was complete",
    "check the name server's log: it may have been restarted",
)
NO_ROUTE = Meaning(
    Unreachable,
    "the network does not lead there",
    "check the address, and the routes and firewalls on the way",
)
NO_ADDRESS = Meaning(
    Unreachable, "its host name has no address", "check the host name, or write an address"
)
OUR_DATA = Meaning(
    Refused,
    "what was to be sent is no valid DNS data",
    "this is a fault in the program that made it; please report it with the plan",
)

# The closest class of an exception decides. What arises from bytes we received means NOT_OURS.
MEANINGS: Mapping[type[BaseException], Meaning] = {
    dns.tsig.PeerBadSignature: BAD_SIGNATURE,
    dns.tsig.PeerBadTruncation: BAD_SIGNATURE,
    dns.tsig.PeerBadKey: BAD_KEY,
    dns.tsig.PeerBadTime: BAD_TIME,
    dns.tsig.PeerError: BAD_KEY,
    dns.tsig.BadTime: BAD_TIME,
    dns.exception.Timeout: SILENT,
    dns.exception.TooBig: OUR_DATA,
    dns.exception.SyntaxError: OUR_DATA,
    dns.name.NeedAbsoluteNameOrOrigin: OUR_DATA,
    dns.name.IDNAException: OUR_DATA,
    dns.exception.DNSException: NOT_OURS,
    TimeoutError: SILENT,
    ConnectionRefusedError: CLOSED,
    ConnectionError: LOST,
    EOFError: LOST,
    socket.gaierror: NO_ADDRESS,
    OSError: NO_ROUTE,
    Unfit: OUR_DATA,
    ValueError: NOT_OURS,
    struct.error: NOT_OURS,
}

RCODES: Mapping[dns.rcode.Rcode, Meaning] = {
    dns.rcode.REFUSED: Meaning(
        Refused,
        "REFUSED: it does not serve this zone, or not to us",
        "check the zone's name in the settings, and its zone clause and allow-query "
        f"in named.conf; {PRINTED}",
    ),
    dns.rcode.NOTAUTH: Meaning(
        Refused,
        "NOTAUTH: it does not serve this zone, or the name is not a zone's apex",
        f"check the zone's name in the settings and the zone clause in named.conf; {PRINTED}",
    ),
    dns.rcode.NOTZONE: Meaning(
        Refused, "NOTZONE: a name lies outside the zone", "check the zones in the settings"
    ),
    dns.rcode.SERVFAIL: Meaning(
        Unreachable,
        "SERVFAIL: it could not do it",
        "read the name server's log: the zone may not be loaded, or its directory not writable",
    ),
    dns.rcode.FORMERR: Meaning(
        Refused,
        "FORMERR: it could not read our message",
        "check that host and port are those of an RFC 2136 name server; report it if they are",
    ),
    dns.rcode.NOTIMP: Meaning(
        Refused,
        "NOTIMP: it does not take updates",
        "FLEX needs a primary name server that takes RFC 2136 updates, such as BIND",
    ),
}


@contextmanager
def translate_errors(server: Server | str, subject: str) -> Iterator[None]:
    """Foreign exceptions become a DnsError inside this block."""
    try:
        yield
    except tuple(MEANINGS) as error:
        raise translate(error, server, subject) from error


def translate(error: BaseException, server: Server | str, subject: str) -> DnsError:
    kin = next(kin for kin in type(error).__mro__ if kin in MEANINGS)
    return _say(MEANINGS[kin], f"asking {server}: {subject}")


def disowned(error: DnsError) -> bool:
    """Whether the server said that it does not know the key."""
    return isinstance(error.__cause__, dns.tsig.PeerBadKey)


def skewed_error(apart: int, server: Server, subject: str) -> DnsError:
    """The server refused our time; `apart` is how many seconds its clock is ahead of ours."""
    side = "ahead of" if apart > 0 else "behind"
    return Refused(
        f"asking {server}: {subject}",
        f"its clock is {abs(apart)} seconds {side} ours, and a signature is good for 300",
        kept=UNCHANGED,
        advice=BAD_TIME.advice,
    )


def said_no(rcode: dns.rcode.Rcode, server: Server | str, subject: str) -> DnsError:
    name = dns.rcode.to_text(rcode)
    other = Meaning(Refused, f"it answered {name}", "read the name server's log for the reason")
    return _say(RCODES.get(rcode, other), f"asking {server}: {subject}")


def not_granted(
    server: Server,
    zone: str,
    subject: str,
    names: Collection[str] = (),
    kinds: Collection[str] = (),
    *,
    hints_sent: bool = False,
) -> DnsError:
    """An update was refused by the zone's policy: the advice is the policy that would allow it for
    these `names`, and for these `kinds` of records. Where changes of address hints were sent
    already, some of their plan may be in DNS.
    """
    key = server.key.name
    hints = not set(HINTED).isdisjoint(kinds)
    policy = update_policy(
        zone, key, own_name=zone in names, hints=server.hints or hints or hints_sent
    )
    if hints:
        without = "make a new plan, which leaves sites with address hints where they are; or "
    elif hints_sent:
        without = "`flex apply --undo` takes back what of the plan is in DNS; or "
    else:
        without = ""
    but = "" if zone in names else f" (without its line for {zone} where a site is called so)"
    denied = sorted(name for name in names if f"deny {key} name {name} " in policy)
    servers = (
        f"; it denies {', '.join(denied)} as a name server's: `flex sites exclude`"
        if denied
        else ""
    )
    return Refused(
        f"asking {server}: {subject}",
        f"REFUSED: the key {key} may not change {' and '.join(kinds) or 'this'} in {zone}, "
        "or a name breaks the server's check-names",
        kept=UNCHANGED,
        advice=f"{without}put this into the zone's clause in named.conf{but}, then `rndc "
        f"reconfig`{servers}; a frozen zone "
        f"needs `rndc thaw`, and a secondary takes no updates. {PRINTED}:\n{policy}",
    )


def not_authoritative(server: Server | str, zone: str, subject: str) -> DnsError:
    return Refused(
        f"asking {server}: {subject}",
        f"it does not answer for {zone} with authority",
        kept=UNCHANGED,
        advice=f"check the zone's name, and that this is its primary and not a resolver; {PRINTED}",
    )


def untrusted_error(server: Server | str, subject: str, why: str) -> DnsError:
    return Unreachable(f"asking {server}: {subject}", why, kept=UNCHANGED, advice=NOT_OURS.advice)


def _say(meaning: Meaning, action: str) -> DnsError:
    return meaning.kind(action, meaning.answer, kept=UNCHANGED, advice=meaning.advice)

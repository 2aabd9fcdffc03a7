"""Records in a zone that say what people decided (flex/zones/decisions_in_markers.py).

Takes zones that we hold, and texts to put among others or to take out. Returns what stands there
now, and changes it by a compare-and-swap, under the same prerequisite as all else: that we hold the
zone. Does not decide what should stand there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import dns.flags
import dns.message
import dns.rcode
import dns.rdataclass
import dns.rdatatype
import dns.update
from dns.rdtypes.ANY.TXT import TXT

from flex.errors import DnsError, Stale
from flex.site_names_in_words import first_few
from flex_dns.update import fence
from flex_dns.wire.explain_dns_errors import (
    UNCHANGED,
    not_authoritative,
    not_granted,
    said_no,
)
from flex_dns.wire.name_server_and_key import Server
from flex_dns.wire.session import Session


@dataclass(frozen=True, slots=True)
class Texts:
    """The texts of one TXT record set, as they are: anybody may have written them."""

    ttl: int = fence.TTL
    values: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class TextsToReplace:
    """A name, the texts that stand there, and those that should."""

    name: str
    was: Texts
    wanted: frozenset[str]

    @property
    def size(self) -> int:
        """About how many bytes it takes in a message: old texts twice at most."""
        texts = [*self.was.values, *self.was.values, *self.wanted]
        return sum(len(text) + len(self.name) for text in texts)


def texts_at(
    session: Session, server: Server, names: Mapping[str, str]
) -> dict[str, Texts]:
    """What stands at each of these names, which are given with their zones. Raises a DnsError where
    that could not be learnt for certain.
    """
    queries = [dns.message.make_query(name, "TXT", flags=0) for name in names]
    asked = "what people decided"
    replies = session.ask_all(queries, asked) if queries else []
    found: dict[str, Texts] = {}
    for (name, zone), reply in zip(names.items(), replies, strict=True):
        asked = f"TXT of {name}"
        if reply.rcode() not in (dns.rcode.NOERROR, dns.rcode.NXDOMAIN):
            raise said_no(reply.rcode(), server, asked)
        if not reply.flags & dns.flags.AA:
            raise not_authoritative(server, zone, asked)
        found[name] = next(
            (
                Texts(rrset.ttl, frozenset(_text(one) for one in rrset))
                for rrset in reply.answer
                if rrset.rdtype == dns.rdatatype.TXT
                and rrset.name.to_text().lower() == name
            ),
            Texts(),
        )
    return found


def replace_texts(
    session: Session,
    server: Server,
    zone: str,
    holder: str,
    changes: Sequence[TextsToReplace],
) -> DnsError | None:
    """Replace the texts at some names of a zone, all or none: if it is `holder` who holds the zone,
    and the texts are still as they were. Return what came in between: the next run tries again.
    """
    asked = f"asking {server}: TXT of {first_few([one.name for one in changes])}"
    update = dns.update.UpdateMessage(zone)
    update.present(fence.fence_name(zone), _rdata(fence.fence_text(holder)))
    for one in changes:
        for text in sorted(one.was.values):
            update.present(one.name, _rdata(text))
        if not one.was.values:
            update.absent(one.name, "TXT")
        for text in sorted(one.was.values - one.wanted):
            update.delete(one.name, _rdata(text))
        for text in sorted(one.wanted - one.was.values):
            update.add(one.name, one.was.ttl, _rdata(text))
    try:
        rcode = session.ask(update, asked).rcode()
    except DnsError as error:
        return error
    if rcode in (dns.rcode.NXRRSET, dns.rcode.YXRRSET):
        return Stale(
            asked,
            "somebody else changed that, or who holds the zone, meanwhile",
            kept=UNCHANGED,
            advice="the next `flex run` or `flex apply` tries again",
        )
    if rcode == dns.rcode.REFUSED:
        return not_granted(server, zone, asked)
    return said_no(rcode, server, asked) if rcode != dns.rcode.NOERROR else None


def _text(rdata: object) -> str:
    assert isinstance(rdata, TXT), "that type was asked for"
    return b"".join(rdata.strings).decode(errors="surrogateescape")


def _rdata(text: str) -> TXT:
    data = text.encode(errors="surrogateescape")
    strings = [data[at : at + 255] for at in range(0, max(1, len(data)), 255)]
    return TXT(dns.rdataclass.IN, dns.rdatatype.TXT, strings)

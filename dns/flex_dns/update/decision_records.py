"""Records in a zone that say what people decided (flex/zones/decisions_in_markers.py).

Takes zones that we hold, and texts to put among others or to take out. Changes what stands there by
a compare-and-swap, under the same prerequisite as all else: that we hold the zone. Does not decide
what should stand there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import dns.rcode
import dns.update

from flex.errors import DnsError, Refused, Stale
from flex.site_names_in_words import first_few
from flex_dns.update import fence
from flex_dns.wire.explain_dns_errors import UNCHANGED, not_granted, said_no
from flex_dns.wire.name_server_and_key import Server
from flex_dns.wire.session import Session
from flex_dns.wire.txt_records import Texts, record_of, text_of

# Bytes of texts that fit into one message (65,535) beside the names and the signature.
LARGEST = 60_000


@dataclass(frozen=True, slots=True)
class TextsToReplace:
    """A name, the texts that stand there, and those that should."""

    name: str
    was: Texts
    wanted: frozenset[str]

    @property
    def size(self) -> int:
        """About how many bytes it takes in a message: old texts twice at most."""
        texts = [*self.was.values, *(self.was.values ^ self.wanted)]
        return sum(len(text) + len(self.name) for text in texts)


def replace_texts(
    session: Session, server: Server, zone: str, holder: str, changes: Sequence[TextsToReplace]
) -> DnsError | None:
    """Replace the texts at some names of a zone, all or none: if it is `holder` who holds the zone,
    and the texts are still as they were. Return what came in between: the next run tries again.
    """
    subject = f"TXT of {first_few([change.name for change in changes])}"
    if sum(change.size for change in changes) > LARGEST:
        return Refused(
            f"asking {server}: {subject}",
            "there are more texts than fit into one message",
            kept=UNCHANGED,
            advice="take those that nobody needs out by hand",
        )
    update = dns.update.UpdateMessage(zone)
    update.present(fence.fence_name(zone), record_of(fence.fence_text(holder)))
    for change in changes:
        records = change.was.as_records()
        for record in records:
            update.present(change.name, record)
        if not records:
            update.absent(change.name, "TXT")
        for record in records:
            if text_of(record) not in change.wanted:
                update.delete(change.name, record)
        ttl = change.was.ttl if records else fence.TTL
        for text in sorted(change.wanted - change.was.values):
            update.add(change.name, ttl, record_of(text))
    try:
        rcode = session.ask(update, subject).rcode()
    except DnsError as error:
        return error
    if rcode in (dns.rcode.NXRRSET, dns.rcode.YXRRSET):
        return Stale(
            f"asking {server}: {subject}",
            "somebody else changed that, or who holds the zone, meanwhile",
            kept=UNCHANGED,
            advice="the next `flex run` or `flex apply` tries again",
        )
    if rcode == dns.rcode.REFUSED:
        return not_granted(server, zone, subject)
    return said_no(rcode, server, subject) if rcode != dns.rcode.NOERROR else None

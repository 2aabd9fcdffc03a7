"""A plan's changes as RFC 2136 messages.

In go changes, out come messages: each `before` a prerequisite, each `after` a replacement or a deletion. Sending
them, and what an answer means, is for rfc2136.py.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import dns.rdata
import dns.rdataclass
import dns.rdatatype
import dns.update
from dns.rdtypes.ANY.TXT import TXT

from flex.domain import Change, Rrset
from flex_dns.contents import ADDRESSES
from flex_dns.marker import site_name

# Larger messages are no faster, and queries wait while the server works on one: at 16 KiB ten times as long.
MESSAGE_BYTES = 12 * 1024
# Type, class, TTL, length of one record on the wire.
RECORD_BYTES = 10


def batches(zone: str, changes: Sequence[Change], limit: int = MESSAGE_BYTES) -> Iterator[tuple[Change, ...]]:
    """The changes in groups that fit one message. All changes of one name are in the same group."""
    batch: list[Change] = []
    size = 0
    for together in _by_name(zone, changes):
        more = sum(wire_bytes(change) for change in together)
        if batch and size + more > limit:
            yield tuple(batch)
            batch, size = [], 0
        batch += together
        size += more
    if batch:
        yield tuple(batch)


def wire_bytes(change: Change) -> int:
    """What a change takes in a message at most: prerequisites, a deletion, additions, names in full."""
    values = [value for rrset in (change.before, change.after) if rrset for value in rrset.values]
    records = 3 + len(values)
    return records * (len(change.name) + 1 + RECORD_BYTES) + sum(max(len(value) + 1, 16) for value in values)


def message(zone: str, changes: Sequence[Change]) -> dns.update.UpdateMessage:
    update = dns.update.UpdateMessage(zone)
    for change in changes:
        _require(update, change)
    for change in changes:
        _make(update, change)
    return update


def _by_name(zone: str, changes: Sequence[Change]) -> list[list[Change]]:
    of_name: dict[str, list[Change]] = {}
    for change in changes:
        of_name.setdefault(site_name(zone, change.name), []).append(change)
    return list(of_name.values())


def _require(update: dns.update.UpdateMessage, change: Change) -> None:
    if change.before:
        # As rdata and not as a set: a set would bring its TTL, and a prerequisite with a TTL is malformed.
        update.present(change.name, *_rdata(change.before))
    else:
        update.absent(change.name, change.type)
    if change.type in ADDRESSES and change.after:
        # BIND accepts an address beside a CNAME, says NOERROR and stores nothing.
        update.absent(change.name, "CNAME")


def _make(update: dns.update.UpdateMessage, change: Change) -> None:
    if change.after:
        update.replace(change.name, change.after.ttl, *_rdata(change.after))
    else:
        update.delete(change.name, change.type)


def _rdata(rrset: Rrset) -> list[dns.rdata.Rdata]:
    if rrset.type == "TXT":
        return [TXT(dns.rdataclass.IN, dns.rdatatype.TXT, [value.encode()]) for value in rrset.values]
    return [dns.rdata.from_text(dns.rdataclass.IN, rrset.type, value) for value in rrset.values]

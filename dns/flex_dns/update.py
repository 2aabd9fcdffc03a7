"""A plan's changes as RFC 2136 messages of a handy size.

In go changes, out come messages: each `before` a prerequisite, each `after` a replacement or a deletion. Sending
them, and what an answer means, is for pipeline.py and carrying.py.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from flex.domain import Change
from flex_dns import wire
from flex_dns.marker import site_name
from flex_dns.wire import Part

# Larger messages are no faster, and queries wait while the server works on one: at 64 KiB thirty times as long.
MESSAGE_BYTES = 12 * 1024


@dataclass(frozen=True, slots=True)
class Message:
    """An unsigned message and what it changes. `row` is the line of the journal that it belongs to."""

    zone: str
    changes: tuple[Change, ...]
    wire: bytes
    row: int = -1


def messages(zone: str, changes: Sequence[Change], limit: int = MESSAGE_BYTES, row: int = -1) -> Iterator[Message]:
    """The changes in groups that fit one message. All changes of one name are in the same group."""
    batch: list[Change] = []
    parts: list[Part] = []
    size = 0
    for together in by_site(zone, changes):
        more = [wire.part(zone, change) for change in together]
        needed = sum(part.size for part in more)
        if batch and size + needed > limit:
            yield Message(zone, tuple(batch), wire.body(zone, parts), row)
            batch, parts, size = [], [], 0
        batch += together
        parts += more
        size += needed
    if batch:
        yield Message(zone, tuple(batch), wire.body(zone, parts), row)


def message(zone: str, changes: Sequence[Change], row: int = -1) -> Message:
    """All of the changes in one."""
    return Message(zone, tuple(changes), wire.body(zone, [wire.part(zone, change) for change in changes]), row)


def halves(whole: Message) -> tuple[Message, ...]:
    """The same in two messages; none where it is about one name alone."""
    names = by_site(whole.zone, whole.changes)
    middle = len(names) // 2
    parts = (names[:middle], names[middle:]) if middle else ()
    return tuple(message(whole.zone, [change for name in part for change in name], whole.row) for part in parts)


def by_site(zone: str, changes: Sequence[Change]) -> list[list[Change]]:
    """A name's addresses and its marker stand or fall together."""
    of_name: dict[str, list[Change]] = {}
    for change in changes:
        of_name.setdefault(site_name(zone, change.name), []).append(change)
    return list(of_name.values())

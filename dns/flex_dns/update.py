"""A plan's changes as RFC 2136 messages of a handy size.

In go changes, out come messages: each `before` a prerequisite, each `after` a replacement or a deletion. Sending
them, and what an answer means, is for pipeline.py and carrying.py.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from flex.domain import Change, Rrset
from flex_dns import wire
from flex_dns.fence import fence_name, fence_text
from flex_dns.marker import site_name
from flex_dns.wire import Part

# Some three hundred replacements. Each message waits twice for the server's disk, so small ones are slow; queries wait
# while the server works on one, so large ones are no good either: at 64 KiB it is thirty times as long.
MESSAGE_BYTES = 20 * 1024


@dataclass(frozen=True, slots=True, eq=False)
class Message:
    """What one message changes. `row` is the line of the journal that it belongs to.

    Where a `controller` is named, the message requires that the zone is held by it (fence.py).
    """

    zone: str
    changes: tuple[Change, ...]
    row: int = -1
    controller: str = ""

    def wire(self) -> bytes:
        """Unsigned, with the id 0. Made when it is to be sent: meanwhile the server works on those before it."""
        parts = [wire.part(self.zone, change) for change in self.changes]
        return wire.body(self.zone, [*self.fenced(), *parts])

    def fenced(self) -> Iterator[Part]:
        if self.controller:
            yield wire.required(self.zone, Rrset(fence_name(self.zone), "TXT", 0, (fence_text(self.controller),)))

    def only(self, changes: Sequence[Change]) -> Message:
        """The same message with some of its changes."""
        return replace(self, changes=tuple(changes))


def messages(zone: str, changes: Sequence[Change], limit: int = MESSAGE_BYTES, row: int = -1) -> Iterator[Message]:
    """The changes in groups that fit one message. All changes of one name are in the same group."""
    batch: list[Change] = []
    size = 0
    for together in by_site(zone, changes):
        needed = sum(wire.part_size(zone, change) for change in together)
        if batch and size + needed > limit:
            yield Message(zone, tuple(batch), row)
            batch, size = [], 0
        batch += together
        size += needed
    if batch:
        yield Message(zone, tuple(batch), row)


def halves(whole: Message) -> tuple[Message, ...]:
    """The same in two messages; none where it is about one name alone."""
    names = by_site(whole.zone, whole.changes)
    middle = len(names) // 2
    parts = (names[:middle], names[middle:]) if middle else ()
    return tuple(whole.only([change for name in part for change in name]) for part in parts)


def by_site(zone: str, changes: Sequence[Change]) -> list[list[Change]]:
    """A name's addresses and its marker stand or fall together."""
    of_name: dict[str, list[Change]] = {}
    for change in changes:
        of_name.setdefault(site_name(zone, change.name), []).append(change)
    return list(of_name.values())

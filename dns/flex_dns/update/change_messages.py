"""A plan's changes as RFC 2136 messages of a handy size.

Takes changes. Returns messages. Each `before` becomes a prerequisite, each `after` a replacement or
a deletion. Further prerequisites are that the names and the zone are still ours, and all that the
plan saw at a name that becomes ours. Does not send anything: message_pipeline.py does,
and sending.py knows what an answer means.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain

from flex.model.zone_plan import Change, RecordType
from flex.zones.marker import marker_text, site_name
from flex.zones.zone_changes import ADDRESSES
from flex_dns.update import fence
from flex_dns.wire import messages as wire
from flex_dns.wire.messages import MessagePart, RequiredSet
from flex_dns.zone.change_states import lies_in

# Bytes of a message: some 270 replacements with what they require. Small messages are slow, because
# each waits twice for the server's disk and wakes the secondaries. In larger ones, what the server
# does for a record grows with the records before it, and the queries of one of its threads wait
# meanwhile. The number is a guess.
MESSAGE_BYTES = 32 * 1024


@dataclass(frozen=True, slots=True)
class Claim:
    """Who we say we are: what every message requires beside what it changes.

    Names must carry the marker of `owner`, and zones must be held by `controller` (fence.py). An
    empty one requires nothing. `held` has the controller with its epoch, for each zone in which an
    epoch was begun.
    """

    owner: str = ""
    controller: str = ""
    held: Mapping[str, str] = field(default_factory=dict)

    def holder(self, zone: str) -> str:
        return self.held.get(zone, self.controller)


# Requires nothing.
NOBODY = Claim()


@dataclass(frozen=True, slots=True, eq=False)
class Message:
    """What one message changes. `row` is the line of the journal that it belongs to.

    It requires what we claim: that we hold the zone, and that each name carries our marker. Where
    one is made for it, the name must be as the plan saw it instead. `sites` has for each other name
    the one of its site: they stand or fall together.
    """

    zone: str
    changes: tuple[Change, ...]
    row: int = -1
    claim: Claim = NOBODY
    sites: Mapping[str, str] = field(default_factory=dict)

    def wire(self) -> bytes:
        """Unsigned, with the id 0. Made when it is to be sent: meanwhile the server works on those
        before it.
        """
        seen = wire.require_kept(self.zone, sets_to_keep(self.zone, self.changes))
        return wire.body(
            self.zone, [*self.claim_parts(), wire.parts(self.zone, self.changes), seen]
        )

    def claim_parts(self) -> Iterator[MessagePart]:
        if self.claim.controller:
            yield wire.require_text(
                self.zone,
                fence.fence_name(self.zone),
                fence.fence_text(self.claim.holder(self.zone)),
            )
        if self.claim.owner:
            names = names_to_mark(self.zone, self.changes)
            first = fence.NAME if self.claim.controller else ""
            yield wire.require_markers(self.zone, names, marker_text(self.claim.owner), first)

    def only(self, changes: Sequence[Change]) -> Message:
        """The same message with some of its changes."""
        return replace(self, changes=tuple(changes))


def messages(
    zone: str,
    changes: Sequence[Change],
    limit: int = MESSAGE_BYTES,
    row: int = -1,
    claim: Claim = NOBODY,
    sites: Mapping[str, str] | None = None,
) -> Iterator[Message]:
    """The changes in groups that fit one message. All changes of one name are in the same group,
    and so are those of a site with its other names, if they fit one message at all.
    """
    sites = sites or {}
    batch: list[Change] = []
    size = 0
    for together, needed in _groups(zone, changes, limit, claim, sites):
        if batch and size + needed > limit:
            yield Message(zone, tuple(batch), row, claim, sites)
            batch, size = [], 0
        batch += together
        size += needed
    if batch:
        yield Message(zone, tuple(batch), row, claim, sites)


def _groups(
    zone: str, changes: Sequence[Change], limit: int, claim: Claim, sites: Mapping[str, str]
) -> Iterator[tuple[list[Change], int]]:
    """What is in one message, each with the bytes that it needs."""
    mark = wire.mark_size(zone, marker_text(claim.owner)) if claim.owner else None
    sized: dict[str, list[tuple[list[Change], int]]] = {}
    for name, together in _group_changes_by_name(zone, changes).items():
        needed = sum([wire.part_size(zone, change) for change in together])
        if mark is not None and "TXT" not in [change.type for change in together]:
            needed += len(name) + mark
        needed += sum(
            [wire.kept_size(zone, required_set) for required_set in sets_to_keep(zone, together)]
        )
        sized.setdefault(sites.get(name, name), []).append((together, needed))
    for names in sized.values():
        size = sum([needed for _, needed in names])
        if len(names) == 1 or size > limit:
            yield from names
        else:
            yield list(chain(*(together for together, _ in names))), size


def halves(whole: Message) -> tuple[Message, ...]:
    """The same in two messages; none where it is about one name alone, or one site with its other
    names.
    """
    names = group_changes_by_site(whole.zone, whole.changes, whole.sites)
    middle = len(names) // 2
    if not middle:
        return ()
    first, second = chain(*names[:middle]), chain(*names[middle:])
    return whole.only(list(first)), whole.only(list(second))


def names_to_mark(zone: str, changes: Sequence[Change]) -> list[str]:
    """The names that have to carry our marker before: those whose marker is not changed with
    them.
    """
    names = dict.fromkeys(change.name for change in changes if change.type != "TXT")
    making = {site_name(zone, change.name) for change in changes if change.type == "TXT"}
    return [name for name in names if name not in making and lies_in(zone, name)]


def sets_to_keep(zone: str, changes: Sequence[Change]) -> list[RequiredSet]:
    """What has to be at the names that get a marker, beside what their other changes require.

    Nobody took the name since the plan was made: its addresses are those that the plan saw, and it
    is no alias and not delegated.
    """
    marks = [change for change in changes if change.beside is not None]
    if not marks:
        return []
    changing = {(change.name, change.type): change for change in changes}
    return [required_set for mark in marks for required_set in _sets_to_keep(zone, mark, changing)]


def _sets_to_keep(
    zone: str, mark: Change, changing: Mapping[tuple[str, RecordType], Change]
) -> Iterator[RequiredSet]:
    name = site_name(zone, mark.name)
    saw = {rrset.type: rrset.values for rrset in mark.beside or ()}
    others = {kind: changing.get((name, kind)) for kind in ADDRESSES}
    for kind in ADDRESSES:
        if others[kind] is None:
            yield RequiredSet(name, kind, saw.get(kind, ()))
    # A name that has an address is no alias, and what brings one to it requires that.
    if not saw and not any(other and other.after for other in others.values()):
        yield RequiredSet(name, "CNAME")
    if name != zone:
        yield RequiredSet(name, "NS")


def group_changes_by_site(
    zone: str, changes: Sequence[Change], sites: Mapping[str, str] | None = None
) -> list[list[Change]]:
    """A name's addresses and its marker stand or fall together, and so do the names of a site."""
    of_site: dict[str, list[Change]] = {}
    for name, together in _group_changes_by_name(zone, changes).items():
        of_site.setdefault((sites or {}).get(name, name), []).extend(together)
    return list(of_site.values())


def _group_changes_by_name(zone: str, changes: Sequence[Change]) -> dict[str, list[Change]]:
    of_name: dict[str, list[Change]] = {}
    for change in changes:
        either = change.either
        name = either.name if either.type != "TXT" else site_name(zone, either.name)
        of_name.setdefault(name, []).append(change)
    return of_name

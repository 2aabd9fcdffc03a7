"""The state of each change of a plan: done, still to do, or overtaken by somebody else.

Takes a plan and what the zone holds. Returns the changes by state, and the error that tells a
person. Does not read the zone.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass

from flex.errors import PartlyApplied, Stale
from flex.model.zone_plan import Change, Rrset, ZonePlan
from flex.planning.dependents_text import why_it_stays
from flex.zones.decisions_in_markers import why_excluded
from flex.zones.marker import marker_name, site_name
from flex.zones.records_of_partition import BelowWildcard, Sets, ZoneState, sets_of
from flex.zones.what_leans_on_names import HOLDING, Pointed, PointingRecord, leaning
from flex.zones.zone_changes import ADDRESSES
from flex_dns.wire.zone_contents import (
    Contents,
    Question,
    canonical,
    exclusion_in,
    texts_of_marker,
    why_not_ours,
)

# Changes that an error lists. A guess.
SHOWN = 10
NO_MARKER = "carries no marker of ours any more"

Held = tuple[int, tuple[str, ...]] | None


@dataclass(frozen=True, slots=True)
class Conflict:
    """A change whose record set is neither what the plan saw nor what it wants.

    Where a name was to become ours, `beside` is the question to which the zone gives another
    answer, and what the plan saw of it.
    """

    change: Change
    found: str
    beside: tuple[Question, Held] | None = None

    @property
    def name(self) -> str:
        return self.beside[0][0] if self.beside else self.change.name

    def __str__(self) -> str:
        (name, kind), held = self.beside or (
            (self.change.name, self.change.type),
            _state_of(self.change.before),
        )
        return f"{name} {kind}: expected {_state_text(held)}, found {self.found}"


@dataclass(frozen=True, slots=True)
class Standing:
    """`withheld` changes could be made, or hold already, but somebody else changed another record
    of their name.
    """

    done: tuple[Change, ...]
    pending: tuple[Change, ...]
    conflicts: tuple[Conflict, ...]
    withheld: tuple[Change, ...] = ()


def questions(zone: str, changes: Sequence[Change]) -> list[Question]:
    """What the zone has to be asked for `standing`: the record sets, and the markers of their
    names.

    All addresses of names that become ours are asked for, those too that do not change.
    """
    names = {name for change in changes if lies_in(zone, name := site_name(zone, change.name))}
    wanted_sets: dict[Question, None] = dict.fromkeys(
        (change.name, change.type) for change in changes
    )
    marking = [site_name(zone, change.name) for change in changes if change.beside is not None]
    wanted_sets |= dict.fromkeys((name, kind) for name in marking for kind in ADDRESSES)
    return list(
        wanted_sets | dict.fromkeys((marker_name(name, zone), "TXT") for name in sorted(names))
    )


def standing(
    zone: str,
    changes: Sequence[Change],
    contents: Contents,
    owner: str = "",
    sites: Mapping[str, str] | None = None,
) -> Standing:
    """Values and TTL both count: a TTL that somebody else edited is their edit.

    With an `owner`, names that carry the marker of another by now are theirs, whatever their
    records say; and those that carry none, and are not to get one by these changes, are not ours
    any more. Those that are to get one must have all the addresses that the plan saw at them, and
    no others. What is another name by `sites` is withheld where its site is not as planned.
    """
    done: list[Change] = []
    pending: list[Change] = []
    conflicts: list[Conflict] = []
    marking = {site_name(zone, change.name) for change in changes if change.type == "TXT"}
    for change in changes:
        record_set = contents.sets.get((change.name, change.type))
        closed = contents.closed.get(change.name, "")
        if closed and change.after:
            conflicts.append(Conflict(change, _that(closed)))
        elif record_set == _state_of(change.after):
            done.append(change)
        elif owner and (claim := _claim(zone, change, contents, owner, marking)):
            conflicts.append(Conflict(change, _that(claim)))
        elif record_set == _state_of(change.before):
            pending.append(change)
        else:
            conflicts.append(Conflict(change, _state_text(record_set)))
    changed = {site_name(zone, conflict.change.name) for conflict in conflicts}
    marks = [
        change
        for change in pending
        if change.beside is not None and site_name(zone, change.name) not in changed
    ]
    taken = list(_markers_in_the_way(zone, marks, changes, contents.sets, contents.closed))
    if not changed and not taken:
        return Standing(tuple(done), tuple(pending), ())
    marks, strangers = (
        [conflict.change for conflict in taken],
        {conflict.name for conflict in taken},
    )
    for name, site in (sites or {}).items():
        if site in changed | strangers:
            changed.add(name)
    withheld = [change for change in done if site_name(zone, change.name) in strangers]
    withheld += [
        change
        for change in pending
        if site_name(zone, change.name) in changed | strangers and change not in marks
    ]
    settled = {*marks, *withheld}
    return Standing(
        tuple(change for change in done if change not in settled),
        tuple(change for change in pending if change not in settled),
        (*conflicts, *taken),
        tuple(withheld),
    )


def pointed_by(zone_plan: ZonePlan) -> Pointed | None:
    """What has to be looked for to see whether its names may still move."""
    if not zone_plan.nothing_leans:
        return None
    return Pointed(frozenset(zone_plan.nothing_leans), frozenset([zone_plan.zone]))


def withhold_names_leant_on(
    zone_plan: ZonePlan, zone_standing: Standing, pointing: Iterable[PointingRecord]
) -> Standing:
    """Names that were to move alone, and on which mail or another service leans by now, are left as
    they are. Hints that change with their names do not hinder them.
    """
    hints = set(zone_plan.hints)
    others = [record for record in pointing if (record.owner, record.type) not in hints]
    leant_on = leaning(others, set(zone_plan.nothing_leans))
    reasons = {
        name: why_it_stays(leans) for name, leans in leant_on.items() if leans.count(*HOLDING)
    }
    return _withhold_names(zone_plan, zone_standing, reasons)


def withhold_names_below_wildcards(
    zone_plan: ZonePlan, zone_standing: Standing, below: Mapping[str, BelowWildcard]
) -> Standing:
    """Names that were free when the plan was made, and for which a wildcard answers by now, are not
    made.
    """
    reasons = {
        change.name: below[change.name].why
        for change in zone_standing.pending
        if change.type in ADDRESSES
        and change.before is None
        and change.name in below
        and change.name not in zone_plan.below_wildcards
    }
    return _withhold_names(zone_plan, zone_standing, reasons)


def _withhold_names(
    zone_plan: ZonePlan, zone_standing: Standing, reasons: Mapping[str, str]
) -> Standing:
    """The same, where these names and what goes along with them are left as they are."""
    if not reasons:
        return zone_standing
    sites = zone_plan.site_of_name
    stay = [
        change
        for change in zone_standing.pending
        if (name := site_name(zone_plan.zone, change.name)) in reasons or sites.get(name) in reasons
    ]
    addresses = [change for change in stay if change.type in ADDRESSES and change.name in reasons]
    return Standing(
        zone_standing.done,
        tuple(change for change in zone_standing.pending if change not in stay),
        (
            *zone_standing.conflicts,
            *(Conflict(change, _that(reasons[change.name])) for change in addresses),
        ),
        (*zone_standing.withheld, *(change for change in stay if change not in addresses)),
    )


def _markers_in_the_way(
    zone: str,
    marks: Sequence[Change],
    changes: Sequence[Change],
    sets: Sets,
    closed: Mapping[str, str],
) -> Iterator[Conflict]:
    """The markers that are not to be made, as their names are not what the plan saw: somebody took
    them.

    So is a name that has the very address that we were to give it: what we change of it and its
    marker are one message.
    """
    changing = {(change.name, change.type): change for change in changes} if marks else {}
    for mark in marks:
        name = site_name(zone, mark.name)
        saw = {rrset.type: rrset for rrset in mark.beside or ()}
        for kind in ADDRESSES:
            change = changing.get((name, kind))
            held = _state_of(change.before if change else saw.get(kind))
            record_set = sets.get((name, kind))
            if name in closed or record_set != held:
                reason = _that(closed[name]) if name in closed else _state_text(record_set)
                yield Conflict(mark, reason, ((name, kind), held))
                break


def refuse_outdated(zone_plan: ZonePlan, state: ZoneState) -> None:
    """Raises Stale where what the zone says of the plan's names is neither what it saw nor what it
    wants.
    """
    if overtaken := conflicts(zone_plan, state):
        raise overtaken_changes(zone_plan, 0, overtaken)


def conflicts(zone_plan: ZonePlan, state: ZoneState) -> list[Conflict]:
    """The changes that somebody else overtook."""
    have = sets_of(state)
    ours = state.owned | {
        site_name(zone_plan.zone, change.name)
        for change in zone_plan.changes
        if change.type == "TXT"
    }
    overtaken: list[Conflict] = []
    for change in (change for change in zone_plan.changes if change.type != "TXT"):
        record_set = have.get((change.name, change.type))
        reason = state.blocked.get(change.name, "")
        if not reason and (decision := state.excluded.get(change.name)):
            marker = marker_name(change.name, zone_plan.zone)
            reason = why_excluded(change.name.rstrip("."), marker, decision)
        below = state.below_wildcards.get(change.name)
        if below and change.name not in zone_plan.below_wildcards:
            reason = below.why
        if not reason and record_set != _state_of(change.after) and change.name not in ours:
            reason = NO_MARKER
        if reason or record_set not in (_state_of(change.before), _state_of(change.after)):
            overtaken.append(Conflict(change, _that(reason) if reason else _state_text(record_set)))
    known = {conflict.name for conflict in overtaken} | state.owned
    marks = [
        mark
        for mark in zone_plan.changes
        if mark.beside is not None and site_name(zone_plan.zone, mark.name) not in known
    ]
    return [
        *overtaken,
        *_markers_in_the_way(zone_plan.zone, marks, zone_plan.changes, have, state.blocked),
    ]


def overtaken_changes(
    zone_plan: ZonePlan, done: int, conflicts: Sequence[Conflict]
) -> Stale | PartlyApplied:
    """The error for changes that somebody else overtook, after `done` changes of the plan hold."""
    named = "; ".join(str(conflict) for conflict in conflicts[:SHOWN])
    more = f" and {len(conflicts) - SHOWN} more" if len(conflicts) > SHOWN else ""
    action = f"changing {len(zone_plan.changes)} record sets in {zone_plan.zone}"
    answer = f"{len(conflicts)} are no longer what the plan saw: {named}{more}"
    if not done:
        return Stale(action, answer, advice="make a new plan with `flex plan`")
    return PartlyApplied(
        action,
        answer,
        kept=f"{done} of the record sets are as planned; what others wrote was left alone",
        advice="look at the named records, then make a new plan with `flex plan`",
    )


def _claim(zone: str, change: Change, contents: Contents, owner: str, marking: Set[str]) -> str:
    name = site_name(zone, change.name)
    if not lies_in(zone, name):
        return ""
    if decision := exclusion_in(texts_of_marker(zone, name, contents)):
        return why_excluded(name.rstrip("."), marker_name(name, zone), decision)
    if name not in marking and (marker_name(name, zone), "TXT") not in contents.sets:
        return why_not_ours(zone, name, owner, contents) or NO_MARKER
    return why_not_ours(zone, name, owner, contents)


def _state_of(rrset: Rrset | None) -> Held:
    if rrset is None:
        return None
    return rrset.ttl, tuple(sorted({canonical(rrset.type, value) for value in rrset.values}))


def _that(reason: str) -> str:
    """A reason has a subject of its own where it is about the name's marker."""
    return f"that {reason}" if reason.startswith("its ") else f"that it {reason}"


def _state_text(held: Held) -> str:
    return f"{held[0]} {' '.join(held[1])}" if held else "nothing"


def lies_in(zone: str, name: str) -> bool:
    """Whether the name lies in the zone, so that it can have a marker there. The server refuses any
    other name and says why.
    """
    return name == zone or name.endswith(f".{zone}")

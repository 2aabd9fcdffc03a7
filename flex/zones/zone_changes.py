"""What would have to change in a zone, and whether that may be done.

Takes what a zone should say and what it says. Returns a ZonePlan: a value that can be printed, has
a digest and can be refused. Does not talk to a name server. Does not remove a name: a site without
visitors is still hosted.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import replace
from itertools import chain
from types import MappingProxyType

import pandas as pd

from flex.frame_schemas import texts
from flex.model.limits_and_approvals import Breach, Limits
from flex.model.plan import Move, Plan
from flex.model.zone_plan import AddressType, Change, HintedSet, RecordType, Rrset, ZonePlan
from flex.partition import site_node_pairs
from flex.zones.address_hints import (
    HINTED,
    both_hints,
    hinted_addresses,
    lead_off_dead_node,
    set_with_hints,
)
from flex.zones.marker import marker_name, marker_text, site_name
from flex.zones.records_of_partition import Sets, ZoneState, sets_by_name, sets_of

ADDRESSES: tuple[AddressType, ...] = ("A", "AAAA")
# What leads visitors: addresses, and the records that may repeat them.
LEADING: tuple[RecordType, ...] = (*ADDRESSES, *HINTED)
# No sets that hint at a dead node.
NO_HINTS: Mapping[HintedSet, Set[str]] = MappingProxyType({})
# The rule about names that somebody else changed.
DRIFT = "safety.max_drifted_names"
# Why a name is not ours that FLEX did not make, or whose marker somebody removed.
NO_MARKER = "holds addresses without our marker"
# What a plan may be over, in the order in which it is measured.
RULES = {
    "safety.max_moved_sites": "sites that move",
    "safety.max_moved_sites_ratio": "part of the sites that moves",
    "safety.max_moved_working_set": "bytes that move",
    "safety.max_inflow_per_node": "sites that come to one node",
    "safety.max_new_sites": "new sites",
    DRIFT: "names that others may have edited",
    "safety.max_rewritten_names": "names of sites that stay whose records change",
}


def foreign(
    state: ZoneState, names: Iterable[str], *, ours: Set[str] = frozenset()
) -> dict[str, str]:
    """Those of the names that FLEX may not change, with the reason.

    A name whose addresses carry no marker of ours belongs to others. An exception is a name in
    `ours`: an operator lets FLEX take over its addresses.
    """
    addressed = set(state.records["name"].unique()) - state.owned - ours
    without = {name: NO_MARKER for name in names if name in addressed}
    return without | {name: state.blocked[name] for name in names if name in state.blocked}


def names_with(table: pd.DataFrame, addresses: Set[str]) -> set[str]:
    """The names of RECORDS that have one of these addresses."""
    pairs = zip(texts(table["name"]), texts(table["value"]), strict=True)
    return {name for name, value in pairs if value in addresses}


def diff(
    zone: str,
    wanted: pd.DataFrame,
    state: ZoneState,
    *,
    owner: str,
    ttl: int,
    left_alone: Mapping[str, str],
    hints: Set[HintedSet] = frozenset(),
    dead_hints: Mapping[HintedSet, Set[str]] = NO_HINTS,
) -> ZonePlan:
    """The changes that make the zone say what is wanted, in canonical order; names left alone have
    a reason. The `hints` in these sets are the addresses of their names, now and then. Sets with
    `dead_hints` name addresses of a dead node, which go.
    """
    want, have = sets_by_name(wanted), sets_of(state)
    names = {name for name, _ in want} - set(left_alone)
    changes: list[Change] = []
    for name in sorted(names):
        changes.extend(_changes_of_name(name, want, have, hints))
        changes.extend(_changes_of_dead_hints(name, want, have, dead_hints))
        if name not in state.owned:
            changes.append(_marker(name, zone, owner, ttl, have))
    reasons = tuple(f"{name} ({reason})" for name, reason in sorted(left_alone.items()))
    return ZonePlan(
        zone,
        tuple(changes),
        reasons,
        owned=len(state.owned),
        serial=state.serial,
        hints=tuple(
            sorted(
                hinted_set for hinted_set in state.hints.keys() & hints if hinted_set[0] in names
            )
        ),
    )


def _changes_of_name(name: str, want: Sets, have: Sets, hints: Set[HintedSet]) -> Iterator[Change]:
    for kind in ADDRESSES:
        before, after = have.get((name, kind)), want.get((name, kind))
        if before != after:
            yield Change(_rrset(name, kind, before), _rrset(name, kind, after))
    for hinted in HINTED if hints else ():
        if (name, hinted) in hints:
            yield from _changes_of_hints(
                _rrset(name, hinted, have.get((name, hinted))), _addresses(name, want)
            )


def _changes_of_dead_hints(
    name: str, want: Sets, have: Sets, dead_hints: Mapping[HintedSet, Set[str]]
) -> Iterator[Change]:
    for hinted in HINTED if dead_hints else ():
        before = _rrset(name, hinted, have.get((name, hinted)))
        if before and (gone := dead_hints.get((name, hinted))):
            had, gets = _addresses(name, have), _addresses(name, want)
            if (after := lead_off_dead_node(before, had, gets, gone)) != before:
                yield Change(before, after)


def _addresses(name: str, sets: Sets) -> dict[AddressType, tuple[str, ...]]:
    return {kind: sets.get((name, kind), (0, ()))[1] for kind in ADDRESSES}


def _changes_of_hints(
    before: Rrset | None, addresses: Mapping[AddressType, Sequence[str]]
) -> Iterator[Change]:
    if before and (after := set_with_hints(before, addresses)) != before:
        yield Change(before, after)


def _rrset(
    name: str, kind: RecordType, record_set: tuple[int, tuple[str, ...]] | None
) -> Rrset | None:
    return Rrset(name, kind, *record_set) if record_set else None


def _marker(name: str, zone: str, owner: str, ttl: int, have: Sets) -> Change:
    """The marker also says which addresses the name had. So the update is refused if others take
    the name in the meantime.
    """
    rrsets = (_rrset(name, kind, have.get((name, kind))) for kind in ADDRESSES)
    beside = tuple(rrset for rrset in rrsets if rrset)
    return Change(None, Rrset(marker_name(name, zone), "TXT", ttl, (marker_text(owner),)), beside)


def made_below_wildcards(zone_plan: ZonePlan, state: ZoneState) -> tuple[str, ...]:
    """The names of the plan that get records though a wildcard answers for them."""
    names = {
        change.name for change in zone_plan.changes if change.after and change.type in ADDRESSES
    }
    return tuple(sorted(names & state.below_wildcards.keys()))


def losses_first(zone_plan: ZonePlan) -> ZonePlan:
    """The same changes in another order: those that only take addresses away come first, because
    they need nothing of any node.
    """
    return replace(zone_plan, changes=tuple(sorted(zone_plan.changes, key=_gains)))


def _gains(change: Change) -> bool:
    return not change.after or not _leads_to(change.after) <= _leads_to(change.before)


def _leads_to(rrset: Rrset | None) -> frozenset[str]:
    if rrset is None:
        return frozenset()
    return hinted_addresses(rrset.values) if rrset.type in HINTED else frozenset(rrset.values)


def drop_overwriting_changes(
    zone_plan: ZonePlan,
    state: ZoneState,
    in_force: pd.DataFrame,
    gone: Set[str],
    edited: Collection[str],
) -> ZonePlan:
    """The plan without changes that would overwrite what others wrote at the `edited` names.

    If others wrote a record set there that leads to the `gone` addresses, only these addresses are
    taken out of it. A name does not lose its last address in this way. What changes keeps the TTL
    that it has.
    """
    if not edited:
        return zone_plan
    have, known = (
        sets_by_name(table[table["name"].isin(list(edited))]) for table in (state.records, in_force)
    )
    of_names: dict[str, list[Change]] = {name: [] for name in edited}
    for change in zone_plan.changes:
        if change.type in ADDRESSES and change.name in of_names:
            of_names[change.name].append(change)
    less = {
        name: _changes_without_overwriting(name, changes, have, known, gone)
        for name, changes in of_names.items()
    }
    kept = [
        change
        for change in zone_plan.changes
        if change.type not in LEADING or change.name not in of_names
    ]
    for change in zone_plan.changes:
        if change.type in HINTED and change.name in of_names and change.before:
            had = _addresses(change.name, have)
            left = _left_at(change.name, less[change.name], have)
            after = lead_off_dead_node(change.before, had, left, gone)
            kept += [replace(change, after=after)] if after != change.before else []
    others = sorted(name for name, changes in less.items() if changes != of_names[name])
    return replace(
        zone_plan,
        changes=(*kept, *(change for changes in less.values() for change in changes)),
        foreign=(
            *zone_plan.foreign,
            *(f"{name} (somebody changed some of it, and that was left)" for name in others),
        ),
    )


def _changes_without_overwriting(
    name: str, changes: list[Change], have: Sets, known: Sets, gone: Set[str]
) -> list[Change]:
    less = [
        change if _as_known(change, known) else _only_without(change, gone) for change in changes
    ]
    kept = [_keep_ttl(change) for change in less if change]
    says = {kind: (name, kind) in have for kind in ADDRESSES} | {
        change.type: change.after is not None for change in kept
    }
    return kept if any(says.values()) else list(map(_keep_ttl, changes))


def _left_at(
    name: str, changes: Iterable[Change], have: Sets
) -> dict[AddressType, tuple[str, ...]]:
    """The addresses that the name has once these changes are made."""
    after = {change.type: change.after.values if change.after else () for change in changes}
    return {kind: after.get(kind, values) for kind, values in _addresses(name, have).items()}


def _keep_ttl(change: Change) -> Change:
    if not (change.before and change.after):
        return change
    return replace(change, after=replace(change.after, ttl=change.before.ttl))


def _as_known(change: Change, known: Sets) -> bool:
    record_set = known.get((change.name, change.type))
    return (record_set[1] if record_set else ()) == (change.before.values if change.before else ())


def _only_without(change: Change, gone: Set[str]) -> Change | None:
    """The record set without the gone addresses, None where it has none of them."""
    if not change.before or gone.isdisjoint(change.before.values):
        return None
    rest = tuple(value for value in change.before.values if value not in gone)
    return Change(change.before, replace(change.before, values=rest)) if rest else change


def changed_names(zone_plan: ZonePlan) -> list[str]:
    """The names whose addresses or markers the plan changes."""
    return sorted({site_name(zone_plan.zone, change.name) for change in zone_plan.changes})


def changed_hints(zone_plan: ZonePlan) -> list[HintedSet]:
    """The HTTPS and SVCB sets that the plan changes."""
    return [
        (change.name, hinted)
        for change in zone_plan.changes
        for hinted in HINTED
        if change.type == hinted
    ]


def drop_hints(zone_plan: ZonePlan) -> ZonePlan:
    """The plan with all HTTPS and SVCB sets left as they are."""
    changes = tuple(change for change in zone_plan.changes if change.type not in HINTED)
    return replace(zone_plan, changes=changes)


def lower_ttls(zone_plan: ZonePlan, ttl: int) -> ZonePlan:
    """A step ahead of a plan that makes before it breaks: what gets new addresses has this TTL at
    most.

    A name that is taken over gets its marker with its first change.
    """
    steps = (
        Change(change.before, low)
        for change in zone_plan.changes
        if (low := _low(change, ttl)) != change.before
    )
    return replace(zone_plan, changes=(*steps, *_early(zone_plan, ttl)))


def from_lowered(zone_plan: ZonePlan, ttl: int) -> ZonePlan:
    """The plan as it is once that step is made."""
    early = set(_early(zone_plan, ttl))
    steps = (
        replace(change, before=_low(change, ttl))
        for change in zone_plan.changes
        if change not in early
    )
    return replace(zone_plan, changes=tuple(steps))


def _early(zone_plan: ZonePlan, ttl: int) -> list[Change]:
    """The markers of the names that are changed ahead."""
    ahead = {
        marker_name(change.name, zone_plan.zone)
        for change in zone_plan.changes
        if _low(change, ttl) != change.before
    }
    return [change for change in zone_plan.changes if change.type == "TXT" and change.name in ahead]


def add_new_addresses(zone_plan: ZonePlan, ttl: int = 0) -> ZonePlan:
    """The first step of a plan that makes before it breaks: all that comes, and nothing of what
    goes.

    What is there in between has this TTL, where one is given.
    """
    return replace(
        zone_plan,
        changes=tuple(
            replace(change, after=_union(change, ttl))
            for change in zone_plan.changes
            if _adds(change)
        ),
    )


def take_old_addresses(zone_plan: ZonePlan, ttl: int = 0) -> ZonePlan:
    """The second step: what goes, from where the first one led."""
    steps = (
        Change(_union(change, ttl), change.after) if _adds(change) else change
        for change in zone_plan.changes
    )
    return replace(
        zone_plan,
        changes=tuple(change for change in steps if change.before != change.after),
        serial=0,
        nothing_leans=(),
    )


def what_is_left(zone_plan: ZonePlan, state: ZoneState, ttl: int = 0) -> ZonePlan:
    """The rest of a plan of which some steps were made, from what the zone says where that is ours.

    Where the zone says anything else, others wrote it. Then the change stays in the plan, and the
    name server refuses it.
    """
    have = sets_of(state)
    left_changes = [
        change
        for change in (
            _what_is_left_of(change, have, ttl)
            for change in zone_plan.changes
            if change.type in LEADING
        )
        if change
    ]
    marked = {marker_name(name, zone_plan.zone) for name in state.owned}
    markers = [
        change for change in zone_plan.changes if change.type == "TXT" and change.name not in marked
    ]
    return replace(zone_plan, changes=(*left_changes, *markers), serial=0, nothing_leans=())


def _what_is_left_of(change: Change, have: Sets, ttl: int) -> Change | None:
    record_set = have.get((change.name, change.type))
    if _says(record_set, change.after):
        return None
    between = (rrset for rrset in _transitional_rrsets(change, ttl) if _says(record_set, rrset))
    return Change(next(between, change.before), change.after)


def _transitional_rrsets(change: Change, ttl: int) -> tuple[Rrset | None, ...]:
    """What the zone can say while a plan is on its way."""
    return (_union(change, ttl), _low(change, ttl)) if _adds(change) else (change.after,)


def _low(change: Change, ttl: int) -> Rrset | None:
    before = change.before
    if (
        not before
        or not ttl
        or before.ttl <= ttl
        or before.type not in LEADING
        or not _adds(change)
    ):
        return before
    return replace(before, ttl=ttl)


def _adds(change: Change) -> bool:
    return bool(change.after) and _gains(change)


def _union(change: Change, ttl: int) -> Rrset | None:
    """Old and new addresses, with the new TTL or a shorter one."""
    before, after = change.before, change.after
    if not before or not after or change.type not in LEADING:
        return after
    values = (
        both_hints(before, after).values
        if change.type in HINTED
        else tuple(sorted({*before.values, *after.values}))
    )
    return replace(after, values=values, ttl=min(after.ttl, ttl or after.ttl))


def is_on_its_way(zone_plan: ZonePlan, state: ZoneState, ttl: int = 0) -> bool:
    """Whether a name is in between: it has neither what it had before the plan nor what it is to
    have, and nobody else changed it.
    """
    have, between, others = sets_of(state), set[str](), set[str]()
    for change in zone_plan.changes:
        record_set = have.get((change.name, change.type))
        if change.type in LEADING and not (
            _says(record_set, change.before) or _says(record_set, change.after)
        ):
            (
                between
                if any(_says(record_set, way) for way in _transitional_rrsets(change, ttl))
                else others
            ).add(change.name)
    return bool(between - others)


def longest_ttl(zone_plan: ZonePlan) -> int:
    """For how many seconds resolvers may still have the records from before the plan."""
    return max((change.before.ttl for change in zone_plan.changes if change.before), default=0)


def undoing(zone_plan: ZonePlan, state: ZoneState, ttl: int = 0) -> ZonePlan:
    """The changes that take a half-applied plan back, where the zone says what the plan wanted.
    What others wrote stays, and so do names whose markers say that FLEX leaves them alone.

    `ttl` is the TTL that records have while the plan is on its way.
    """
    have = sets_of(state)
    of_names: dict[str, list[Change]] = {}
    for change in zone_plan.changes:
        name = site_name(zone_plan.zone, change.name)
        if name in state.excluded:
            continue
        others = of_names.setdefault(name, [])
        if change.type in LEADING:
            others.append(change)
    back = {
        name: [
            Change(rrset, step.before)
            for step in changes
            for rrset in dict.fromkeys((step.after, *_transitional_rrsets(step, ttl)))
            if rrset != step.before and _says(have.get((name, step.type)), rrset)
        ]
        for name, changes in of_names.items()
    }
    marked = {
        marker_name(name, zone_plan.zone)
        for name, changes in of_names.items()
        if name in state.owned and len(back[name]) == len(changes)
    }
    markers = [
        Change(step.after, step.before)
        for step in zone_plan.changes
        if step.type == "TXT" and step.name in marked
    ]
    return ZonePlan(
        zone_plan.zone,
        (*(change for changes in back.values() for change in changes), *markers),
        serial=state.serial,
        go_along=zone_plan.go_along,
    )


def hints_of_others(zone_plan: ZonePlan, back: ZonePlan, state: ZoneState) -> list[str]:
    """The HTTPS and SVCB sets of a plan that somebody else wrote meanwhile, and which its way back
    leaves as they are. Those of names that are excluded by their markers are not among them.
    """
    have, put_back = sets_of(state), {(change.name, change.type) for change in back.changes}
    return sorted(
        f"{change.type} of {change.name.rstrip('.')}"
        for change in zone_plan.changes
        if change.type in HINTED
        and change.name not in state.excluded
        and (change.name, change.type) not in put_back
        and not _says(have.get((change.name, change.type)), change.before)
    )


def excluded_names_left(zone_plan: ZonePlan, state: ZoneState) -> set[str]:
    """The names that are excluded by their markers, and which the zone does not say as before the
    plan.
    """
    have = sets_of(state)
    return {
        change.name
        for change in zone_plan.changes
        if change.name in state.excluded
        and change.type in LEADING
        and not _says(have.get((change.name, change.type)), change.before)
    }


def _says(record_set: tuple[int, tuple[str, ...]] | None, wanted: Rrset | None) -> bool:
    return record_set == (wanted and (wanted.ttl, tuple(sorted(wanted.values))))


def text(zone_plan: ZonePlan) -> str:
    """The plan as a person reviews it: one line a record set, - for what goes, + for what comes."""
    return "".join(line + "\n" for change in zone_plan.changes for line in lines(change))


def lines(change: Change) -> Iterator[str]:
    for sign, rrset in (("-", change.before), ("+", change.after)):
        if rrset:
            between = " | " if rrset.type in HINTED else " "
            values = between.join(rrset.values)
            yield f"{sign} {rrset.name} {rrset.ttl} {rrset.type} {values}"


def lines_of_difference(change: Change) -> Iterator[str]:
    """What a name server says, and what it should say. Of HTTPS and SVCB sets the hints alone are
    compared, and their TTL only while a plan is on its way.
    """
    if not any(side and side.type in HINTED for side in (change.before, change.after)):
        yield from lines(change)
        return
    for sign, rrset in (("-", change.before), ("+", change.after)):
        if rrset:
            ttl = f"{rrset.ttl} " if rrset.ttl else ""
            values = " ".join(rrset.values)
            yield f"{sign} {rrset.name} {ttl}hints of {rrset.type} {values}"


def digest(zone_plans: Iterable[ZonePlan], partition: pd.DataFrame) -> str:
    """Equal for equal changes and partitions, in whatever way they were found."""
    hashed = hashlib.sha256()
    for zone_plan in sorted(zone_plans, key=lambda zone_plan: zone_plan.zone):
        hashed.update(f"zone {zone_plan.zone}\n{text(zone_plan)}".encode())
    rows = sorted(site_node_pairs(partition))
    hashed.update("".join([f"{site} {node}\n" for site, node in rows]).encode())
    return hashed.hexdigest()


def count_rewritten_names(
    zone_plans: Iterable[ZonePlan],
    moving: Collection[str],
    with_more: Mapping[AddressType, Iterable[str]],
) -> int:
    """How many names had addresses and get others, other hints or another TTL, though they are not
    among those that move. Names `with_more` get their first address of a family.
    """
    changed = (
        change
        for zone_plan in zone_plans
        for change in zone_plan.changes
        if change.before and change.type in LEADING
    )
    more = chain.from_iterable(with_more.values())
    return len({*(change.name for change in changed), *more} - set(moving))


def past(plan: Plan) -> str:
    """The command that goes over every limit that the plan is over: with one of several it would be
    refused.
    """
    return " ".join(
        [f"flex apply {plan.id}", *(f"--force {breach.rule}" for breach in plan.breaches)]
    )


def breaches(
    moves: Sequence[Move],
    sites: int,
    limits: Limits,
    *,
    new: int = 0,
    drifted: int = 0,
    rewritten: int = 0,
) -> tuple[Breach, ...]:
    """The limits a plan is over. Putting a site where it had no node before is no move away from
    anything; taking a replica away is one.

    `new` sites are those never placed before, once a partition is in force; `drifted` names are
    those that the plan would change back though somebody else may have changed them; `rewritten`
    ones those whose records change though they do not move.
    """
    away = [move for move in moves if move.source is not None]
    moved = len({move.site for move in away})
    share = moved / sites if sites >= limits.share_from else 0.0
    inflow: dict[str, int] = {}
    for move in away:
        if move.target is not None:
            inflow[move.target] = inflow.get(move.target, 0) + 1
    measures = (
        (limits.moved_sites, moved),
        (limits.moved_share, share),
        (limits.cold_bytes, sum(move.cold_bytes for move in away)),
        (limits.inflow, max(inflow.values(), default=0)),
        (limits.new_sites, new),
        (limits.drifted_names, drifted),
        (limits.rewritten_names, rewritten),
    )
    return tuple(
        Breach(rule, float(limit), float(actual))
        for rule, (limit, actual) in zip(RULES, measures, strict=True)
        if actual > limit
    )

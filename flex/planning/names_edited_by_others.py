"""Names of ours that somebody else has changed or removed since FLEX wrote them. They are left
alone unless an operator wants them back.

Takes what the zones say and what FLEX wrote. Returns the reach of a plan without those names. The
operator's limit safety.max_drifted_names says how many of them a plan may take back without being
asked. Does not change anything in DNS.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import NamedTuple

import pandas as pd

from flex.errors import BadInput
from flex.frame_schemas import RECORDS
from flex.model.dns_edits_by_others import REASON, Edit, Said
from flex.model.nodes import Node
from flex.model.zone_plan import AddressType
from flex.partition import join_partitions, rows_of_other_sites, sites_in
from flex.planning import dns_survey, unmovable_name_advice
from flex.planning.dns_survey import Reach
from flex.planning.facts_and_rules import Facts, Rules
from flex.site_names_in_words import first_few, weight_of_sites
from flex.zones import records_of_partition, single_family_names, zone_changes
from flex.zones.names_going_along import Pairs, place_names_along
from flex.zones.records_of_partition import ZoneState, sets_by_name


@dataclass(frozen=True, slots=True, eq=False)
class WithoutEdited:
    """What a plan is made from without the names that it leaves alone.

    Where a plan in force was stored before it said which addresses its nodes had, nobody can tell
    an edit from a node that moved: such names are `unsure`, and the plan changes them.
    """

    reach: Reach
    facts: Facts
    # What the plan will have said in DNS.
    said: Said
    unsure: tuple[str, ...] = ()
    # What a person should know of the unsure names.
    remarks: tuple[str, ...] = ()
    # The names that are taken back.
    back: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, eq=False)
class AtDeadNode:
    """What a plan off a dead node is made from. `gone` are all addresses that lead to the node,
    `edits` the names that somebody changed, zone by zone, and `records` those of the partition in
    force.
    """

    apart: WithoutEdited
    gone: frozenset[str]
    edits: Mapping[str, tuple[Edit, ...]]
    records: Mapping[str, pd.DataFrame]


def apart(reach: Reach, facts: Facts, rules: Rules, now: datetime) -> WithoutEdited:
    """Raises BadInput where a name is wanted back that nobody changed, or whose marker says that
    FLEX leaves it alone.
    """
    every = [
        edit for of_zone in edits_of_zones(reach, facts, rules, now).values() for edit in of_zone
    ]
    excluded = _names_excluded(reach)
    edits = [edit for edit in every if edit.name not in excluded]
    refuse_not_edited(rules.take_back, edits, reach, facts, rules.owner)
    if facts.base and not facts.said.addresses:
        return _unsure(reach, facts, rules, tuple(edit.name for edit in edits))
    all_back = len(edits) <= rules.limits.drifted_names
    back = tuple(edit for edit in edits if all_back or edit.name in rules.take_back)
    left = tuple(edit for edit in every if edit not in back)
    without_excluded = [edit for edit in left if edit.name not in excluded]
    noted = _add_notes(facts, without_excluded, back)
    return WithoutEdited(
        left_alone(reach, without_excluded, facts),
        noted,
        _said_in_dns(reach, noted, rules, left),
        back=frozenset(edit.name for edit in back),
    )


def edits_at_dead_node(
    reach: Reach, facts: Facts, rules: Rules, dead: str, now: datetime
) -> AtDeadNode:
    """Nothing is taken back there."""
    gone = addresses_of(facts, dead)
    edits = edits_of_zones(reach, facts, rules, now)
    left = tuple(edit for of_zone in edits.values() for edit in of_zone)
    less = _leave_names_off_dead_node(reach, edits, facts, dead, gone)
    excluded = _names_excluded(reach)
    noted = _add_notes(facts, [edit for edit in left if edit.name not in excluded], ())
    # A name with a TTL of theirs leaves the dead node with it: what FLEX says there is new.
    there = _names_with(reach, gone)
    kept = tuple(edit for edit in left if not (edit.is_of_ttl and edit.name in there))
    apart = WithoutEdited(less, noted, _said_in_dns(reach, noted, rules, kept))
    return AtDeadNode(apart, gone, edits, records_in_force(facts, rules, reach))


def _names_excluded(reach: Reach) -> set[str]:
    """Sites that FLEX leaves alone as their markers say so: nothing is taken back there. What
    somebody changed stays an edit, also once the marker says so no more.
    """
    return {
        name
        for zone, state in reach.states.items()
        for name in state.excluded.keys() & reach.foreign[zone].keys()
    }


def _names_with(reach: Reach, addresses: frozenset[str]) -> set[str]:
    """The names of all zones that have one of these addresses."""
    names = set[str]()
    for state in reach.states.values():
        names |= zone_changes.names_with(state.records, addresses)
    return names


def _unsure(reach: Reach, facts: Facts, rules: Rules, names: tuple[str, ...]) -> WithoutEdited:
    remark = (
        f"changed in DNS by somebody else, or a node has other addresses now: {first_few(names)}"
    )
    return WithoutEdited(
        reach, facts, _said_in_dns(reach, facts, rules, ()), names, (remark,) if names else ()
    )


def _said_in_dns(reach: Reach, facts: Facts, rules: Rules, left: tuple[Edit, ...]) -> Said:
    sites = set(map(records_of_partition.name_of, facts.sites))
    foreign = {name for of_zone in reach.foreign.values() for name in of_zone}
    return Said(
        {node.name: node.addresses for node in facts.nodes},
        left,
        rules.ttl,
        rules.zones,
        tuple(sorted(foreign & sites)),
        tuple(_one_family(reach, facts, rules)),
    )


def _one_family(reach: Reach, facts: Facts, rules: Rules) -> Iterator[tuple[str, AddressType]]:
    """The names that keep one family of addresses. What the plan in force did not place is as DNS
    has it by now.
    """
    families = dict(facts.said.one_family)
    if len(single_family_names.families_of(facts.nodes)) < 2 and not families:
        return
    along = _still_along(facts, reach)
    placed = {*facts.placement["site"], *(name for name, _ in along)} if facts.base else ()
    known = set(map(records_of_partition.name_of, placed))
    hosts = {site: site for site in facts.sites}
    hosts |= {other.name: other.site for other in reach.others.along}
    kept = {
        records_of_partition.name_of(host)
        for host, site in hosts.items()
        if rules.families.answer_for_site(site) == "keep"
    }
    for zone, state in reach.states.items():
        ours = known & state.owned
        names = kept - (reach.foreign[zone].keys() - ours)
        yield from single_family_names.one_family(state, names, families, ours)


def edits_of_zones(
    reach: Reach, facts: Facts, rules: Rules, now: datetime
) -> dict[str, tuple[Edit, ...]]:
    """Zone by zone, the names with other addresses or another TTL than FLEX said there last, and
    those that are gone with their marker: changed since, or left alone since then.

    Such an edit is over when the name says again what FLEX said, or has become another's.
    """
    if not facts.base:
        return {}
    zone_records = records_in_force(facts, rules, reach)
    along = _still_along(facts, reach)
    site_of = {records_of_partition.name_of(name): site for name, site in along}
    placed, _ = records_of_partition.split(
        [*facts.sites, *(name for name, _ in along)], rules.zones
    )
    return {
        zone: tuple(
            _edits_of_zone(
                state,
                zone_records[zone],
                _names_gone(state, placed[zone], reach.foreign[zone], facts),
                facts,
                rules,
                now,
                site_of,
            )
        )
        for zone, state in sorted(reach.states.items())
    }


def records_in_force(facts: Facts, rules: Rules, reach: Reach) -> dict[str, pd.DataFrame]:
    """Zone by zone, the records of the partition in force, with the addresses that its nodes had
    then; those of other names, too, that went along and may go on.
    """
    nodes = _as_said(facts)
    placed = place_names_along(facts.placement, _still_along(facts, reach))
    partition = records_of_partition.rows_on_known_nodes(placed, nodes)
    every = records_of_partition.records(partition, nodes, rules.ttl)
    kept = single_family_names.drop_other_family(every, dict(facts.said.one_family))
    return records_of_partition.split_by_zone(kept, rules.zones)


def _still_along(facts: Facts, reach: Reach) -> Pairs:
    """What is another name of no site any more is read no more."""
    names = {other.name for other in reach.others.along}
    return [pair for pair in facts.along if pair[0] in names]


def left_alone(reach: Reach, edits: Sequence[Edit], facts: Facts) -> Reach:
    """Their sites count where DNS has them, as those do that are not ours."""
    return dns_survey.leave_out_names(
        reach, {edit.name: REASON for edit in edits}, facts.sites, facts.nodes
    )


def addresses_of(facts: Facts, node: str) -> frozenset[str]:
    """All that lead to a node: those that it has, and those that FLEX said last."""
    return records_of_partition.addresses_of(facts.nodes, node) | frozenset(
        facts.said.addresses.get(node, ())
    )


def _leave_names_off_dead_node(
    reach: Reach,
    edits: Mapping[str, Sequence[Edit]],
    facts: Facts,
    dead: str,
    gone: Collection[str],
) -> Reach:
    """Off a dead node: what somebody changed, and what does not lead there, is left to them. So is
    what FLEX places no more.
    """
    placed = {records_of_partition.name_of(site) for site in facts.placement["site"]}
    placed |= {records_of_partition.name_of(other.name) for other in reach.others.along}
    foreign = {zone: dict(names) for zone, names in reach.foreign.items()}
    excluded = _names_excluded(reach)
    for zone, of_zone in edits.items():
        there = zone_changes.names_with(reach.states[zone].records, frozenset(gone)) & placed
        others = {edit.name for edit in of_zone} - there - excluded
        foreign[zone] |= dict.fromkeys(others, f"somebody changed it, and it is not at {dead}")
    return replace(reach, foreign=foreign)


class _At(NamedTuple):
    """All addresses of a name, and their TTLs."""

    values: tuple[str, ...] = ()
    ttls: tuple[int, ...] = ()


_NOTHING = _At()


def _edits_of_zone(
    state: ZoneState,
    our_records: pd.DataFrame,
    gone: Collection[str],
    facts: Facts,
    rules: Rules,
    now: datetime,
    site_of: Mapping[str, str],
) -> list[Edit]:
    """`gone` are names that FLEX made and that are not there any more."""
    ours, theirs = _group_by_name(our_records), _group_by_name(state.records)
    before = {edit.name: edit for edit in facts.said.edits}
    edits: list[Edit] = []
    for name in sorted((state.owned | set(gone)) & (ours.keys() | before.keys())):
        have, earlier = theirs.get(name, _NOTHING), before.get(name)
        values = earlier.said if earlier else ours[name].values
        ttl = (earlier.ttl if earlier else 0) or facts.said.ttl
        # What the settings ask for is what FLEX says next, whoever wrote it.
        others = set(have.ttls) - {ttl, rules.ttl} if ttl else ()
        if have.values == values and not others:
            continue
        since = earlier.since if earlier else now
        site = site_of.get(name, "")
        edits.append(Edit(name, values, have.values, since, ttl, have.ttls, site))
    return edits


def _names_gone(
    state: ZoneState, sites: Sequence[str], foreign: Collection[str], facts: Facts
) -> set[str]:
    """Names that the plan in force said, and of which nothing is left, marker or address."""
    if state.zone not in facts.said.zones:
        return set()
    names = set(map(records_of_partition.name_of, sites))
    there = set(state.records["name"]) | state.owned | state.blocked.keys()
    return names - there - set(foreign) - set(facts.said.beside)


def _group_by_name(table: pd.DataFrame) -> dict[str, _At]:
    addresses_by_name: dict[str, _At] = {}
    for (name, _), (ttl, some) in sets_by_name(table).items():
        known = addresses_by_name.get(name, _NOTHING)
        addresses_by_name[name] = _At(
            tuple(sorted((*known.values, *some))), tuple(sorted({*known.ttls, ttl}))
        )
    return addresses_by_name


def _add_notes(facts: Facts, left: Sequence[Edit], back: Sequence[Edit]) -> Facts:
    """With what a person should know of it, and the sites that are taken back where FLEX had
    them.
    """
    notes = tuple(_remarks(left, back, facts.profiles))
    return replace(facts, placement=_put_back(facts, back), remarks=(*facts.remarks, *notes))


def _remarks(left: Sequence[Edit], back: Sequence[Edit], profiles: pd.DataFrame) -> Iterator[str]:
    """What somebody else changed at names of ours, and what a person can do about it."""
    if left:
        sites = {edit.name.rstrip(".") for edit in left}
        weight = weight_of_sites(
            [
                site
                for site in profiles["site"]
                if records_of_partition.name_of(site).rstrip(".") in sites
            ],
            profiles,
        )
        yield (
            f"{REASON}, so left alone{weight}: "
            f"{first_few([_edit_in_words(edit) for edit in left])}; {_ways_on(left[0])}"
        )
    if back:
        yield f"{REASON}, and taken back: {first_few([_edit_in_words(edit) for edit in back])}"


def remark(edit: Edit) -> str:
    """What a person should know of one name that is left alone."""
    return (
        f"{REASON}, found {edit.since:%Y-%m-%d %H:%M} UTC, so left alone: "
        f"{_edit_in_words(edit)}; {_ways_on(edit)}"
    )


def _ways_on(edit: Edit) -> str:
    name = _site(edit)
    if edit.site:
        return (
            "it stays theirs, and goes along with its site again with `flex plan "
            f"--take-back {name}`"
        )
    return (
        f"it stays theirs with `flex sites exclude {name}`, and FLEX has it back "
        f"with `flex plan --take-back {name}`"
    )


def _edit_in_words(edit: Edit) -> str:
    earlier = str(edit.ttl) if edit.is_of_ttl else " ".join(edit.said) or "none"
    return f"{_site(edit)} (has {edit.there}, had {earlier})"


def _site(edit: Edit) -> str:
    return edit.name.rstrip(".")


def _put_back(facts: Facts, back: Sequence[Edit]) -> pd.DataFrame:
    rows = [
        (edit.name, records_of_partition.record_type(value), 0, value)
        for edit in back
        for value in edit.said
    ]
    table = RECORDS.make(pd.DataFrame(rows, columns=list(RECORDS.columns)))
    names = {edit.name for edit in back}
    sites = [site for site in facts.sites if records_of_partition.name_of(site) in names]
    had = records_of_partition.partition_from(table, sites, _as_said(facts))
    others = rows_of_other_sites(facts.placement, sites_in(had))
    return join_partitions(others, had) if back else facts.placement


def _as_said(facts: Facts) -> list[Node]:
    """The nodes with the addresses that they had when the partition in force was said."""
    known = facts.said.addresses
    return [replace(node, addresses=known.get(node.name, node.addresses)) for node in facts.nodes]


def refuse_not_edited(
    names: Collection[str], edits: Sequence[Edit], reach: Reach, facts: Facts, owner: str
) -> None:
    """Raises BadInput: who misspells a name believes to have it back, and what has become another's
    is nobody's to take.
    """
    changed = [edit.name for edit in edits]
    strange = sorted(set(names) - set(changed))
    if not strange:
        return
    name = strange[0]
    foreign = {
        other_name: (zone, why)
        for zone, of_zone in reach.foreign.items()
        for other_name, why in of_zone.items()
    }
    if name in foreign:
        zone, why = foreign[name]
        raise _refusal(
            name,
            unmovable_name_advice.sentence(why),
            unmovable_name_advice.way_on(name, zone, why, owner),
        )
    others = f"changed were {first_few(changed)}" if changed else "nobody changed any name of ours"
    sentence = (
        "it says what FLEX said there"
        if name in set(map(records_of_partition.name_of, facts.sites))
        else "FLEX places no site of that name, and gives it no addresses of one"
        if name not in {records_of_partition.name_of(other_name) for other_name, _ in facts.along}
        else "it says what FLEX said there"
    )
    advice = "name one of these, or leave it out" if changed else "leave it out"
    raise _refusal(name, f"{sentence}; {others}", advice)


def _refusal(name: str, answer: str, advice: str) -> BadInput:
    return BadInput(f"taking back {name!r:.100}", answer, advice=advice)

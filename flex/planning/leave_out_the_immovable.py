"""Which of the sites a plan leaves out, as FLEX cannot move them.

Takes the facts of a night, the operator's rules and a name server to read. Returns the same facts
without what FLEX cannot move, and with a remark on everything that was left out. Does not plan.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set
from dataclasses import replace

import pandas as pd

from flex.errors import BadInput
from flex.model.plan import Plan
from flex.planning import (
    names_edited_by_others,
    remarks_on_sites,
    sites_that_stay_for_dependents,
    traffic_by_other_names,
    which_sites_dns_lets_flex_move,
)
from flex.planning.facts_and_rules import Facts, Rules
from flex.planning.hold_sites_not_ready import hold
from flex.planning.leave_sites_with_their_content import leave
from flex.planning.load_from_forwarding_at_doors import count_forwarding
from flex.planning.which_sites_dns_lets_flex_move import Reach
from flex.ports import Publisher
from flex.table_schemas import PLACEMENT, texts
from flex.wishes import suspended_wishes
from flex.zones import records_of_partition
from flex.zones.names_not_following_sites import NameLeftBehind, strays_of
from flex.zones.records_of_partition import name_of, split


def look_at_zones(
    facts: Facts, rules: Rules, publisher: Publisher, gone: Set[str] = frozenset()
) -> Reach:
    """What DNS says of the sites, and of the addresses of a dead node that are `gone`. Raises
    BadInput where none of the sites is ours to move: there is nothing to plan. Where people keep
    FLEX away from some of them by their markers, a plan says so, and moves nothing.
    """
    sites = facts.sites
    known = set(sites)
    others = [other for other in facts.others if other.site in known and other.name not in known]
    found = which_sites_dns_lets_flex_move.look(
        publisher,
        sites,
        facts.nodes,
        rules.zones,
        adopt=rules.adopt,
        others=others,
        publishing=rules.publishing,
        dependents=rules.dependents.are_looked_for,
        follow=rules.follow,
        along=facts.along,
        below_wildcards=rules.below_wildcards,
        words=facts.words,
        address_hints_follow=rules.address_hints_follow,
        gone=gone,
    )
    by_markers = found.excluded.keys() | found.told_otherwise
    if sites and len(found.beyond) == len(sites) and not by_markers:
        first = next(remarks_on_sites.of_reach(found, facts.profiles))
        raise BadInput(
            f"a plan for {len(sites)} sites",
            f"none of them is FLEX's to move; {first}",
            kept="nothing was changed",
            advice="check dns.zones and dns.owner; dns.adopt = true takes over names "
            "whose addresses are all your "
            "nodes'; without dns.zones a plan is made on paper only",
        )
    return found


def look_around_dead_node(
    facts: Facts, rules: Rules, dead: str, publisher: Publisher
) -> tuple[Reach, Facts]:
    """What DNS says where a node died, and the facts with all that the node has to lose."""
    gone = names_edited_by_others.addresses_of(facts, dead)
    found = look_at_zones(facts, rules, publisher, gone)
    facts = sites_that_stay_for_dependents.put_back(found, facts, dead)
    return _what_is_there(found), facts


def _what_is_there(found: Reach) -> Reach:
    """The same without other names that have no records yet: where a node died, none is made."""
    there = {name for state in found.states.values() for name in state.owned}
    for state in found.states.values():
        there |= set(state.records["name"])
    along = tuple(
        other for other in found.others.along if records_of_partition.name_of(other.name) in there
    )
    return replace(found, others=replace(found.others, along=along))


def look_and_start(facts: Facts, rules: Rules, publisher: Publisher) -> tuple[Reach, Facts]:
    """The same, and the facts to start from: where no partition is in force, DNS says where the
    sites are.
    """
    found = look_at_zones(facts, rules, publisher)
    return found, _start_from_dns(found, facts, rules)


def _start_from_dns(found: Reach, facts: Facts, rules: Rules) -> Facts:
    if facts.base or not found.states:
        return facts
    start = which_sites_dns_lets_flex_move.start(found, facts.sites, facts.nodes, adopt=rules.adopt)
    said = (*facts.remarks, *remarks_on_sites.of_start(set(start["site"])))
    return replace(facts, placement=start, remarks=said)


def within(found: Reach, facts: Facts) -> Facts:
    """Sites beyond our reach stay where they are, or are left out where nobody can say where that
    is. What comes by other names that do not move with their site counts where these lead, and what
    doors pass on at their nodes.
    """
    movable = facts.placement[~facts.placement["site"].isin(list(found.beyond))]
    known = facts.profiles[~facts.profiles["site"].isin(list(found.out))].reset_index(drop=True)
    partition = PLACEMENT.make(pd.concat([movable, found.fixed], ignore_index=True))
    held = _held_where_they_are(movable, facts)
    reached = replace(
        facts,
        profiles=known,
        placement=partition,
        fixed=frozenset(found.fixed["site"]),
        held=held,
        # Without any zone DNS follows no site.
        doors_alone=frozenset(found.doors_alone) if found.states else found.led,
    )
    within = hold(leave(reached))
    kept = suspended_wishes.possible(facts.pins, set(within.sites) - within.fixed, facts.nodes)
    said = (
        *within.remarks,
        *remarks_on_sites.of_reach(found, facts.profiles),
        *remarks_on_sites.of_other_names(found.others, facts.profiles),
        *(f"{site} stays where it is: {why}" for site, why in sorted(within.held.items())),
        *remarks_on_sites.of_names_given_up(_names_given_up(facts)),
        *remarks_on_sites.of_wishes(kept.suspended),
    )
    ours = replace(within, pins=kept.pins, remarks=said)
    return count_forwarding(_split(found.others.strays, ours))


def _held_where_they_are(movable: pd.DataFrame, facts: Facts) -> dict[str, str]:
    """A node that is to be emptied, or is dead, holds nobody."""
    if not facts.held:
        return {}
    active = {node.name for node in facts.nodes if node.state == "active"}
    placed = movable[movable["site"].isin(list(facts.held))]
    leaves = set(texts(placed["site"][~placed["node"].isin(list(active))]))
    here = set(texts(placed["site"])) - leaves
    return {site: why for site, why in facts.held.items() if site in here}


def _names_given_up(facts: Facts) -> set[str]:
    known = {*facts.sites, *(other.name for other in facts.others)}
    return {name for name, site in facts.along if name not in known}


def as_in(plan: Plan, facts: Facts, rules: Rules, asked: str = "") -> Facts:
    """The same facts as DNS was when a plan was made, without asking anew: the traffic of other
    names where it counted, and the sites that are not FLEX's to move where they are.

    Of these, one that is on no active node is left out, but for the one that is `asked` about.
    """
    known = set(facts.sites)
    facts = _without_moving(immovable_in(plan, facts, rules), facts, asked)
    unready = {one.site: one.why for one in plan.not_ready}
    facts = hold(replace(leave(facts, asked), unready=unready), asked)
    strays = [stray for stray in strays_in(plan) if stray.site in known and stray.name not in known]
    return count_forwarding(_split(strays, facts))


def with_parts(partition: pd.DataFrame, facts: Facts) -> pd.DataFrame:
    """A partition that is kept, with the parts of traffic, which are in none."""
    parts = facts.placement[facts.placement["site"].isin(list(facts.parts))]
    return PLACEMENT.make(pd.concat([partition, parts], ignore_index=True))


def immovable_in(plan: Plan, facts: Facts, rules: Rules) -> frozenset[str]:
    """The sites whose records the plan found to be somebody else's, and that no door leads to."""
    names = {entry.partition(" ")[0] for one in plan.zone_plans for entry in one.foreign}
    found = frozenset(site for site in facts.sites if name_of(site) in names)
    found |= _in_no_zone(facts.sites, rules)
    return found - rules.publishing.by_doors(found)


def _in_no_zone(sites: Sequence[str], rules: Rules) -> frozenset[str]:
    """None where there are no zones: then every site can move, on paper."""
    return frozenset(split(sites, rules.zones)[1]) if rules.zones else frozenset()


def _without_moving(stuck: Set[str], facts: Facts, asked: str) -> Facts:
    if not stuck:
        return facts
    active = [node.name for node in facts.nodes if node.state == "active"]
    placed = facts.placement
    lost = placed["site"].isin(list(stuck)) & ~placed["node"].isin(active)
    placed = PLACEMENT.make(placed[~lost].reset_index(drop=True))
    fixed = stuck & set(texts(placed["site"]))
    out = stuck - fixed - {asked}
    profiles, spreads = facts.profiles, facts.spreads
    return replace(
        facts,
        profiles=profiles[~profiles["site"].isin(list(out))].reset_index(drop=True),
        spreads=spreads[~spreads["site"].isin(list(out))].reset_index(drop=True),
        placement=placed,
        fixed=facts.fixed | fixed,
    )


def strays_in(plan: Plan) -> Iterator[NameLeftBehind]:
    for one in plan.zone_plans:
        yield from strays_of(one.zone, one.stay_behind)


def _split(strays: Sequence[NameLeftBehind], facts: Facts) -> Facts:
    """The traffic of other names, each at the nodes that its addresses are of."""
    parts = traffic_by_other_names.parts_of(strays, facts.nodes)
    if not parts:
        return facts
    profiles, spreads = traffic_by_other_names.profiles_with(parts, facts.profiles, facts.spreads)
    placed = traffic_by_other_names.partition_of_parts(parts)
    names = frozenset(texts(placed["site"])) & frozenset(texts(profiles["site"]))
    placed = placed[placed["site"].isin(list(names))]
    return replace(
        facts,
        profiles=profiles,
        spreads=spreads,
        sample=traffic_by_other_names.sample_with(parts, facts.sample),
        placement=PLACEMENT.make(pd.concat([facts.placement, placed], ignore_index=True)),
        fixed=facts.fixed | names,
        parts=names,
    )

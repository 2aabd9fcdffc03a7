"""Which of the sites a plan leaves out, as FLEX cannot move them.

Takes the facts of a night, the operator's rules and a name server to read. Returns the same facts
without what FLEX cannot move, and with a remark on everything that was left out. Does not plan.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set
from dataclasses import replace

import pandas as pd

from flex.errors import BadInput
from flex.frame_schemas import PLACEMENT, texts
from flex.model.plan import Plan
from flex.partition import join_partitions, rows_of_other_sites, rows_of_sites, sites_in
from flex.planning import (
    dependents_of_sites,
    dns_survey,
    names_edited_by_others,
    plan_notes_on_sites,
    traffic_by_other_names,
)
from flex.planning.dns_survey import Reach
from flex.planning.facts_and_rules import Facts, Rules
from flex.planning.forwarding_load import count_forwarding
from flex.planning.hold_sites_not_ready import hold
from flex.planning.stranded_site_holds import leave
from flex.ports import Publisher
from flex.wishes import suspended_wishes
from flex.zones import records_of_partition
from flex.zones.names_not_following import NameLeftBehind, strays_of
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
    reach = dns_survey.look(
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
    by_markers = reach.excluded.keys() | reach.told_otherwise
    if sites and len(reach.immovable_sites) == len(sites) and not by_markers:
        first = next(plan_notes_on_sites.remark_on_reach(reach, facts.profiles))
        raise BadInput(
            f"a plan for {len(sites)} sites",
            f"none of them is FLEX's to move; {first}",
            advice="check dns.zones and dns.owner; dns.adopt = true takes over names "
            "whose addresses are all your "
            "nodes'; without dns.zones a plan is made on paper only",
        )
    return reach


def look_around_dead_node(
    facts: Facts, rules: Rules, dead: str, publisher: Publisher
) -> tuple[Reach, Facts]:
    """What DNS says where a node died, and the facts with all that the node has to lose."""
    gone = names_edited_by_others.addresses_of(facts, dead)
    reach = look_at_zones(facts, rules, publisher, gone)
    facts = dependents_of_sites.put_back(reach, facts, dead)
    return _what_is_there(reach), facts


def _what_is_there(reach: Reach) -> Reach:
    """The same without other names that have no records yet: where a node died, none is made."""
    there = {name for state in reach.states.values() for name in state.owned}
    for state in reach.states.values():
        there |= set(state.records["name"])
    along = tuple(
        other for other in reach.others.along if records_of_partition.name_of(other.name) in there
    )
    return replace(reach, others=replace(reach.others, along=along))


def look_and_start(facts: Facts, rules: Rules, publisher: Publisher) -> tuple[Reach, Facts]:
    """The same, and the facts to start from: where no partition is in force, DNS says where the
    sites are.
    """
    reach = look_at_zones(facts, rules, publisher)
    return reach, _start_from_dns(reach, facts, rules)


def _start_from_dns(reach: Reach, facts: Facts, rules: Rules) -> Facts:
    if facts.base or not reach.states:
        return facts
    start = dns_survey.start(reach, facts.sites, facts.nodes, adopt=rules.adopt)
    remarks = (*facts.remarks, *plan_notes_on_sites.remark_on_start(set(start["site"])))
    return replace(facts, placement=start, remarks=remarks)


def limit_to_reach(reach: Reach, facts: Facts) -> Facts:
    """Sites beyond our reach stay where they are, or are left out where nobody can say where that
    is. What comes by other names that do not move with their site counts where these lead, and what
    doors pass on at their nodes.
    """
    movable = rows_of_other_sites(facts.placement, reach.immovable_sites)
    known = rows_of_other_sites(facts.profiles, reach.out)
    partition = join_partitions(movable, reach.fixed)
    held = held_where_they_are(movable, facts)
    reached = replace(
        facts,
        profiles=known,
        placement=partition,
        fixed=frozenset(reach.fixed["site"]),
        held=held,
        # Without any zone DNS follows no site.
        doors_alone=frozenset(reach.doors_alone) if reach.states else reach.led,
    )
    within = hold(leave(reached))
    kept = suspended_wishes.possible(facts.pins, set(within.sites) - within.fixed, facts.nodes)
    remarks = (
        *within.remarks,
        *plan_notes_on_sites.remark_on_reach(reach, facts.profiles),
        *plan_notes_on_sites.remark_on_other_names(reach.others, facts.profiles),
        *plan_notes_on_sites.remark_on_held(within.held),
        *plan_notes_on_sites.remark_on_names_given_up(_names_given_up(facts)),
        *plan_notes_on_sites.remark_on_wishes(kept.suspended),
    )
    ours = replace(within, pins=kept.pins, remarks=remarks)
    return count_forwarding(_split(reach.others.strays, ours))


def held_where_they_are(movable: pd.DataFrame, facts: Facts) -> dict[str, str]:
    """Return the held sites among the movable ones: a node that is drained or dead holds none."""
    if not facts.held:
        return {}
    active = {node.name for node in facts.nodes if node.takes_sites}
    placed = rows_of_sites(movable, facts.held)
    leaves = set(texts(placed["site"][~placed["node"].isin(list(active))]))
    here = sites_in(placed) - leaves
    return {site: why for site, why in facts.held.items() if site in here}


def _names_given_up(facts: Facts) -> set[str]:
    known = {*facts.sites, *(other.name for other in facts.others)}
    return {name for name, site in facts.along if name not in known}


def as_in(plan: Plan, facts: Facts, rules: Rules, kept_site: str = "") -> Facts:
    """The same facts as DNS was when a plan was made, without asking anew: the traffic of other
    names where it counted, and the sites that are not FLEX's to move where they are.

    Of these, one that is on no active node is left out, but for `kept_site`.
    """
    known = set(facts.sites)
    facts = _fix_stuck_sites(immovable_in(plan, facts, rules), facts, kept_site)
    movable = rows_of_other_sites(facts.placement, facts.fixed)
    facts = replace(facts, held=held_where_they_are(movable, facts))
    unready = {not_ready.site: not_ready.why for not_ready in plan.not_ready}
    facts = hold(replace(leave(facts, kept_site), unready=unready), kept_site)
    strays = [stray for stray in strays_in(plan) if stray.site in known and stray.name not in known]
    return count_forwarding(_split(strays, facts))


def add_traffic_parts(partition: pd.DataFrame, facts: Facts) -> pd.DataFrame:
    """A partition that is kept, with the parts of traffic, which are in none."""
    parts = rows_of_sites(facts.placement, facts.parts)
    return join_partitions(partition, parts)


def immovable_in(plan: Plan, facts: Facts, rules: Rules) -> frozenset[str]:
    """The sites whose records the plan found to be somebody else's, and that no door leads to."""
    names = {name for zone_plan in plan.zone_plans for name in zone_plan.why_foreign}
    stuck_sites = frozenset(site for site in facts.sites if name_of(site) in names)
    stuck_sites |= _sites_outside_zones(facts.sites, rules)
    return stuck_sites - rules.publishing.sites_led_by_doors(stuck_sites)


def _sites_outside_zones(sites: Sequence[str], rules: Rules) -> frozenset[str]:
    """None where there are no zones: then every site can move, on paper."""
    return frozenset(split(sites, rules.zones)[1]) if rules.zones else frozenset()


def _fix_stuck_sites(stuck: Set[str], facts: Facts, kept_site: str) -> Facts:
    if not stuck:
        return facts
    active = [node.name for node in facts.nodes if node.takes_sites]
    placed = facts.placement
    lost = placed["site"].isin(list(stuck)) & ~placed["node"].isin(active)
    placed = PLACEMENT.make(placed[~lost].reset_index(drop=True))
    fixed = stuck & sites_in(placed)
    return replace(
        facts.drop_traffic_of(stuck - fixed - {kept_site}),
        placement=placed,
        fixed=facts.fixed | fixed,
    )


def strays_in(plan: Plan) -> Iterator[NameLeftBehind]:
    for zone_plan in plan.zone_plans:
        yield from strays_of(zone_plan.zone, zone_plan.stay_behind)


def _split(strays: Sequence[NameLeftBehind], facts: Facts) -> Facts:
    """The traffic of other names, each at the nodes that its addresses are of."""
    parts = traffic_by_other_names.parts_of(strays, facts.nodes)
    if not parts:
        return facts
    profiles, spreads = traffic_by_other_names.profiles_with(parts, facts.profiles, facts.spreads)
    placed = traffic_by_other_names.partition_of_parts(parts)
    names = frozenset(sites_in(placed) & sites_in(profiles))
    placed = rows_of_sites(placed, names)
    return replace(
        facts,
        profiles=profiles,
        spreads=spreads,
        sample=traffic_by_other_names.sample_with(parts, facts.sample),
        placement=join_partitions(facts.placement, placed),
        fixed=facts.fixed | names,
        parts=names,
    )

"""Sites that stay where they are, as a move would take mail or another service along, or leave
address hints behind; and other names of sites that stay for it while their sites move.

Takes what DNS says of the sites, and the operator's rules. Returns the reach of a plan in which
such sites do not move, and sentences on what does move along. Does not read DNS.

A site stays only where the records that FLEX writes would lead elsewhere. A name without an address
has nothing that could be carried away. One at an address that is no node's, or a dead node's, has
lost its services already. What doors alone lead keeps its address whatever moves.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

from flex.frame_schemas import texts
from flex.model.dependents_of_moves import Dependents
from flex.model.nodes import Node
from flex.model.zone_plan import LeansOnSite, ZonePlan
from flex.partition import join_partitions, rows_of_sites
from flex.planning import dns_survey
from flex.planning.dependents_text import (
    NOBODY_KNOWS,
    Held,
    hints_in_words,
    is_reason,
    why_it_stays,
)
from flex.planning.dns_survey import Reach
from flex.planning.facts_and_rules import Facts
from flex.planning.names_edited_by_others import WithoutEdited
from flex.ports import Publisher
from flex.site_names_in_words import first_few
from flex.zones import records_of_partition
from flex.zones.what_leans_on_names import HOLDING, Leaning
from flex.zones.zone_changes import ADDRESSES

# How often names that would move are asked for, where all of a zone are too many. In the last round
# only these may move. A guess: each round is a plan.
ROUNDS = 3
# What a note begins with on what is carried to other nodes.
MOVED_ALONG = "moves along with sites"
LEFT_BEHIND = "still lead to old nodes once sites have moved"
HINTS_DENIED = "address hints do not follow, as FLEX may not change HTTPS and SVCB records"
GRANT_HINTS = "`flex config named` prints the right to do so, and `flex doctor` tries it"
SENDERS = "who may send mail changes with the addresses of sites that move"
WITHOUT_MX = (
    "mail may move along with sites that have no MX: their SPF lets hosts send mail, and "
    "answers come to their address"
)
ISSUERS = "certificates are bound to an account or a way of proof, which the new node must have"

Made = TypeVar("Made")


def make_what_may_move(
    apart: WithoutEdited,
    make: Callable[[WithoutEdited], Made],
    zone_plans: Callable[[Made], Iterable[ZonePlan]],
    dependents: Dependents,
    publisher: Publisher,
) -> Made:
    """What `make` makes of the sites that may move.

    Where a zone cannot be transferred and has many names, those that would move are asked for, and
    what is made then moves others. In the end none moves that was not asked for.
    """
    apart = replace(apart, reach=hold_sites_with_dependents(apart.reach, apart.facts, dependents))
    for rounds_left in reversed(range(ROUNDS)):
        proposed = make(apart)
        new = _not_asked_for(apart.reach, zone_plans(proposed))
        if not new:
            return proposed
        reach = dns_survey.asked_about(apart.reach, new, publisher)
        if not rounds_left:
            reach = replace(reach, unasked=frozenset())
            return make(replace(apart, reach=_only_asked(reach, apart, dependents)))
        less = hold_sites_with_dependents(reach, apart.facts, dependents)
        if new <= less.asked and less.leaning == apart.reach.leaning:
            return proposed
        apart = replace(apart, reach=less)
    raise AssertionError("the last round returns")


def hold_sites_with_dependents(reach: Reach, facts: Facts, dependents: Dependents) -> Reach:
    """The same, where sites with dependents stay."""
    reasons = reasons_to_stay(reach, facts.sites, facts.nodes, dependents)
    return dns_survey.leave_out_names(reach, reasons, facts.sites, facts.nodes)


def _not_asked_for(reach: Reach, zone_plans: Iterable[ZonePlan]) -> set[str]:
    if not reach.unasked:
        return set()
    moving = _names_that_move(
        zone_plan for zone_plan in zone_plans if zone_plan.zone in reach.unasked
    )
    return moving - reach.asked


def _only_asked(reach: Reach, apart: WithoutEdited, dependents: Dependents) -> Reach:
    """Names of which nobody knows what leans on them stay, too, for those who refuse that."""
    facts, first = apart.facts, apart.reach
    of_zones = {
        zone: names.keys() for zone, names in first.foreign.items() if zone in first.unasked
    }
    zones = reach.states.keys()
    kept = _names_at(reach, [node for node in facts.nodes if node.is_serving])
    reasons = reasons_to_stay(reach, facts.sites, facts.nodes, dependents)
    for name, site in _site_of(reach, facts.sites).items():
        zone = records_of_partition.zone_of(name, zones)
        if (
            zone in of_zones
            and name in kept - reach.asked
            and name not in of_zones[zone]
            and dependents.answer_for_site(site) == "refuse"
        ):
            reasons[name] = NOBODY_KNOWS
    return dns_survey.leave_out_names(reach, reasons, facts.sites, facts.nodes)


def reasons_to_stay(
    reach: Reach, sites: Sequence[str], nodes: Sequence[Node], dependents: Dependents
) -> dict[str, str]:
    """By the name of a site that stays for what leans on it, or of another name that goes along
    with one and stays alone.
    """
    if not reach.leaning:
        return {}
    kept = _names_at(reach, [node for node in nodes if node.is_serving])
    site_of = _site_of(reach, sites)
    foreign = {name for of_zone in reach.foreign.values() for name in of_zone}
    return {
        name: why_it_stays(leaning, reach.held_hints)
        for name, leaning in reach.leaning.items()
        if name in kept
        and name not in foreign
        and leaning.count(*HOLDING)
        and dependents.answer_for_site(site_of[name]) == "refuse"
    }


def _site_of(reach: Reach, sites: Iterable[str]) -> dict[str, str]:
    """By the name of a site, and by each other name that goes along with one."""
    of_others = {
        records_of_partition.name_of(other.name): other.site for other in reach.others.along
    }
    return {records_of_partition.name_of(site): site for site in sites} | of_others


def put_back(reach: Reach, facts: Facts, dead: str) -> Facts:
    """With the sites at a dead node that are in no partition, as they stayed there for what leans
    on them while others left it: that is as dead as they are. So it is with sites whose address
    hints follow by now, and with those that people took in again since the last plan. Those
    elsewhere whose hints alone lead to the node count where they are.
    """
    left_out = set(facts.placement["site"]) | reach.excluded.keys()
    hinting_there = {name for name, _ in reach.dead_hints}
    hinting = hinting_there | {name for name, _ in reach.hints}
    missing = [
        site
        for site in facts.sites
        if site not in left_out
        and (
            site in facts.words.of_sites
            or records_of_partition.name_of(site) in hinting
            or _is_leant_on(reach, site)
        )
    ]
    if not missing:
        return facts
    there = dns_survey.start(reach, missing, facts.nodes, adopt=False)
    back = {*texts(there["site"][there["node"] == dead])}
    back |= {site for site in missing if records_of_partition.name_of(site) in hinting_there}
    rows = rows_of_sites(there, back)
    return replace(facts, placement=join_partitions(facts.placement, rows))


def _is_leant_on(reach: Reach, site: str) -> bool:
    leaning = reach.leaning.get(records_of_partition.name_of(site))
    return leaning is not None and bool(leaning.count(*HOLDING))


def _names_at(reach: Reach, nodes: Iterable[Node]) -> set[str]:
    """The names whose every address is one of these nodes'."""
    ours = {address for node in nodes for address in node.addresses}
    there, elsewhere = set[str](), set[str]()
    for state in reach.states.values():
        for name, value in zip(state.records["name"], state.records["value"], strict=True):
            (there if value in ours else elsewhere).add(name)
    return there - elsewhere


def leaning_in(
    zone: str, reach: Reach, facts: Facts, dependents: Dependents
) -> tuple[LeansOnSite, ...]:
    """What a plan keeps of a zone: what leans on its sites, and whether they stay for it."""
    if not reach.leaning:
        return ()
    kept: list[LeansOnSite] = []
    reasons, beyond = reach.foreign.get(zone, {}), reach.immovable_sites
    site_of = _site_of(reach, facts.sites)
    for name, leaning in reach.leaning.items():
        # A site that is left out of the partition is not among the facts any more.
        site = site_of.get(name, name.rstrip("."))
        here = records_of_partition.zone_of(name, reach.states.keys()) == zone
        if not here or dependents.answer_for_site(site) == "ignore":
            continue
        stays = is_reason(reasons.get(name, ""))
        if stays and name != records_of_partition.name_of(site):
            # What leans on another name that stays alone does not lean on the site.
            continue
        # Doors lead a site on, whatever its records say.
        stays = stays and site in beyond
        kept += [
            LeansOnSite(
                site, each.kind, each.record.owner, each.description, stays and each.kind in HOLDING
            )
            for each in leaning.dependents
        ]
    return tuple(kept)


def names_that_move_alone(
    zone_plan: ZonePlan, reach: Reach, facts: Facts, dependents: Dependents
) -> tuple[str, ...]:
    """Those of a zone that would stay if anything leaned on them: sites, and names that go along
    with one.
    """
    moving = _names_that_move([zone_plan])
    return tuple(
        sorted(
            name
            for name, site in _site_of(reach, facts.sites).items()
            if name in moving and dependents.answer_for_site(site) == "refuse"
        )
    )


def notes_on_moves(
    zone_plans: Iterable[ZonePlan], reach: Reach, facts: Facts, dependents: Dependents
) -> Iterator[str]:
    """What moves along with the names whose addresses a plan changes, and what changes by it."""
    yield from _note_on_hidden(zone_plans, reach)
    for zone, why in sorted(reach.denied_hints.items()):
        yield f"{HINTS_DENIED} in {zone}: {why}; {GRANT_HINTS}"
    moving = _names_that_move(zone_plans) if reach.leaning or reach.unlooked else ()
    yield from _not_known(reach, moving, dependents)
    if not reach.leaning:
        return
    of_name = {
        name.rstrip("."): reach.leaning[name]
        for name, site in _site_of(reach, facts.sites).items()
        if name in moving and name in reach.leaning and dependents.answer_for_site(site) != "ignore"
    }
    yield from _moving_along(of_name, reach.held_hints)
    if senders := _names_in_words(of_name, "SPF"):
        yield f"{SENDERS}: {first_few(senders)}"
    if unsure := _names_in_words(of_name, "A"):
        yield f"{WITHOUT_MX}: {first_few(unsure)}"
    if issuers := _names_in_words(of_name, "CAA"):
        yield f"{ISSUERS}: {first_few(issuers)}"


def _note_on_hidden(zone_plans: Iterable[ZonePlan], reach: Reach) -> Iterator[str]:
    sentences = [
        f"{name} {reach.states[zone_plan.zone].below_wildcards[name].why}"
        for zone_plan in zone_plans
        for name in zone_plan.below_wildcards
    ]
    if sentences:
        yield f"made below wildcards: {first_few(sentences, between='; ')}"


def _not_known(reach: Reach, moving: Collection[str], dependents: Dependents) -> Iterator[str]:
    """Zones of which nobody knows all that leans on the names that move."""
    zones = frozenset(reach.states)
    blind = {
        zone
        for name in moving
        if (zone := records_of_partition.zone_of(name, zones)) in reach.unlooked
        and dependents.answer_for_site(name.rstrip(".")) != "ignore"
    }
    if blind:
        which = "this zone" if len(blind) == 1 else "these zones"
        yield (
            f"{which} cannot be transferred, so only the MX, TXT, CAA and HTTPS of the sites' "
            f"own names were asked for, and not what else leans on them: {first_few(sorted(blind))}"
        )


def _moving_along(of_name: Mapping[str, Leaning], held: Held) -> Iterator[str]:
    carried = [
        f"{dependent.description} with {name}"
        for name, leaning in of_name.items()
        for dependent in leaning.taken_along
    ]
    if carried:
        yield f"{MOVED_ALONG}: {first_few(carried)}"
    hints = [
        hints_in_words(dependent, held)
        for leaning in of_name.values()
        for dependent in leaning.left_behind
    ]
    if hints:
        yield f"{LEFT_BEHIND}: {first_few(hints)}"
    aliases = sum(leaning.count("CNAME") for leaning in of_name.values())
    if aliases:
        which = "1 CNAME" if aliases == 1 else f"{aliases:,} CNAMEs"
        lead = "leads to a site" if aliases == 1 else "lead to sites"
        yield f"{which} that {lead} of this plan {'moves' if aliases == 1 else 'move'} along"


def _names_in_words(of_name: Mapping[str, Leaning], *kinds: str) -> list[str]:
    return [
        f"{dependent.description} with {name}"
        for name, leaning in of_name.items()
        for dependent in leaning.dependents
        if dependent.kind in kinds
    ]


def _names_that_move(zone_plans: Iterable[ZonePlan]) -> set[str]:
    """Those that had an address, and get another one or lose one."""
    return {
        change.name
        for zone_plan in zone_plans
        for change in zone_plan.changes
        if change.type in ADDRESSES
        and change.before
        and (change.after is None or change.before.values != change.after.values)
    }

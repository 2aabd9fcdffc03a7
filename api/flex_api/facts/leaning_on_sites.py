"""What depends on the names of sites, as the newest plan found it in DNS, or as DNS says it now.

Takes plans, or a world. Returns what leans on sites. Does not decide which sites stay for it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from flex.model.dependents_of_moves import Dependents
from flex.model.plan import Plan
from flex.model.zone_plan import LeansOnSite
from flex.planning import dependents_of_sites, dns_survey
from flex.planning.dns_survey import Reach
from flex.zones import records_of_partition
from flex.zones.what_leans_on_names import Dependent, Kind
from flex_api.schemas.plan_parts import LeaningRow
from flex_api.wiring import World


def look_now(world: World, sites: Sequence[str]) -> tuple[Reach, dict[str, str]]:
    """What DNS says now of these sites, and by name the reasons of those that stay. Raises a
    DnsError.
    """
    rules = world.rules
    reach = dns_survey.look(
        world.publisher,
        sites,
        world.nodes,
        rules.zones,
        adopt=rules.adopt,
        publishing=rules.publishing,
        dependents=rules.dependents.are_looked_for,
        below_wildcards=rules.below_wildcards,
        address_hints_follow=rules.address_hints_follow,
    )
    reasons = dependents_of_sites.reasons_to_stay(reach, sites, world.nodes, rules.dependents)
    return reach, reasons


def dependents_of_moving_sites(
    reach: Reach, sites: Iterable[str], dependents: Dependents, *kinds: Kind
) -> list[tuple[str, Dependent]]:
    """What of these kinds leans on the sites that move all the same, each with its site. Names that
    are not FLEX's to change do not move.
    """
    foreign = {name for of_zone in reach.foreign.values() for name in of_zone}
    return [
        (site, dependent)
        for site in sites
        if dependents.answer_for_site(site) == "warn"
        and (name := records_of_partition.name_of(site)) not in foreign
        and (leaning := reach.leaning.get(name))
        for dependent in leaning.dependents_of_kinds(*kinds)
    ]


def mail_without_mx(reach: Reach, sites: Iterable[str], dependents: Dependents) -> list[str]:
    """Sites to whose address mail may come, as they have no MX and send mail."""
    return [
        site
        for site in sites
        if dependents.answer_for_site(site) != "ignore"
        and (leaning := reach.leaning.get(records_of_partition.name_of(site)))
        and leaning.count("A")
    ]


def leaning_on(plan: Plan | None, site: str) -> list[LeansOnSite]:
    """What the plan found of one site."""
    return [
        record
        for zone_plan in (plan.zone_plans if plan else ())
        for record in zone_plan.leaning
        if record.site == site
    ]


def leaning_rows(leaning: Iterable[LeansOnSite]) -> list[LeaningRow]:
    return [LeaningRow.like(record) for record in leaning]


def stays_for(plan: Plan | None) -> dict[str, list[str]]:
    """What a move would take along, by site, of the sites that stay for it."""
    reasons: dict[str, list[str]] = {}
    for zone_plan in plan.zone_plans if plan else ():
        for record in zone_plan.leaning:
            if record.stays:
                reasons.setdefault(record.site, []).append(record.what)
    return reasons

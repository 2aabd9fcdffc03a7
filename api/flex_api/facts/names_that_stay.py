"""What is said of names that FLEX does not move, where what would move is looked at without asking
a name server.

Takes a world, and the nodes that sites would leave. Returns sentences: what the newest plan found
of such names, and how they count here. Does not ask where the names lead now.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from itertools import chain

from flex.model.plan import Plan
from flex.partition import rows_on_nodes, sites_in
from flex.planning import plan_notes_on_sites
from flex.planning.dependents_text import is_reason, ways_on
from flex.site_names_in_words import first_few
from flex.zones import records_of_partition
from flex_api.facts import visitors_at_other_nodes
from flex_api.wiring import World

COUNTED_AS_IN_PLAN = (
    "what comes by other names that do not move with their sites counts where the "
    "newest plan found that these names lead; no name server is asked again"
)


def newest_plan(world: World) -> Plan | None:
    """The one that looked at DNS last."""
    return next(iter(world.store.plans(1)), None)


def remarks(world: World, leaving: Collection[str] = ()) -> list[str]:
    """`leaving` are nodes whose sites would go elsewhere."""
    plan = newest_plan(world)
    return list(_remarks(world, plan, leaving)) if plan else []


def _remarks(world: World, plan: Plan, leaving: Collection[str]) -> Iterator[str]:
    of_names = [note for note in plan.notes if plan_notes_on_sites.is_of_other_names(note)]
    yield from of_names
    if any(plan_notes_on_sites.OF_OTHER_NAMES in note for note in of_names):
        yield COUNTED_AS_IN_PLAN
    for node in leaving:
        yield from _staying_at(plan, node)
        yield from _visitors_staying_at(world, plan, node)
    yield from _not_ours(world, plan, leaving)


def _staying_at(plan: Plan, node: str) -> Iterator[str]:
    there = sorted(
        other_name.name
        for zone_plan in plan.zone_plans
        for other_name in zone_plan.stay_behind
        if node in other_name.nodes
    )
    if there:
        which, leave = (
            (f"1 other name leads to {node} and stays", "its site leaves")
            if len(there) == 1
            else (f"{len(there):,} other names lead to {node} and stay", "their sites leave")
        )
        yield (
            f"{which} there when {leave} it: {first_few(there)}; change that where "
            "these records are kept"
        )


def _visitors_staying_at(world: World, plan: Plan, node: str) -> Iterator[str]:
    """Those of sites that doors lead to and whose DNS FLEX does not change."""
    _, partition = world.store.placement()
    here = sites_in(rows_on_nodes(partition, [node]))
    theirs = _reasons(plan)
    alone = sorted(
        {
            *visitors_at_other_nodes.left_to_doors(world.settings, here),
            *(
                site
                for site in world.settings.routing.publishing().sites_led_by_doors(here)
                if records_of_partition.name_of(site) in theirs
            ),
        }
    )
    if alone:
        which = "1 site" if len(alone) == 1 else f"{len(alone):,} sites"
        yield (
            f"visitors of {which} keep coming to {node} when sites have left it, as FLEX "
            f"does not change the DNS of: {first_few(alone)}; {node} passes them on while "
            "its HAProxy runs"
        )


def _not_ours(world: World, plan: Plan, leaving: Collection[str]) -> Iterator[str]:
    """Sites of the partition in force that are not FLEX's to change in DNS."""
    reasons = _reasons(plan)
    if not reasons:
        return
    _, partition = world.store.placement()
    if leaving:
        partition = rows_on_nodes(partition, leaving)
    foreign = {
        site: reasons[records_of_partition.name_of(site)]
        for site in sorted(sites_in(partition))
        if records_of_partition.name_of(site) in reasons
    }
    led = world.settings.routing.publishing().sites_led_by_doors(foreign)
    theirs = {site: why for site, why in foreign.items() if site not in led}
    leaning = {site: why for site, why in theirs.items() if is_reason(why)}
    yield from _leaning(leaning)
    named = [f"{site} ({why})" for site, why in theirs.items() if site not in leaning]
    if named:
        what = "1 site stays" if len(named) == 1 else f"{len(named):,} sites stay"
        which = "it is and is" if len(named) == 1 else "they are and are"
        yield f"{what} where {which} not FLEX's to move: {first_few(named)}"


def _leaning(reasons: Mapping[str, str]) -> Iterator[str]:
    """Sites that stay for what leans on their names."""
    if reasons:
        few = len(reasons) == 1
        what = "1 site stays" if few else f"{len(reasons):,} sites stay"
        named = [f"{site}, which {why}" for site, why in reasons.items()]
        yield (
            f"{what} where {'it is' if few else 'they are'}: "
            f"{first_few(named, between='; ')}; {ways_on(reasons.values())}"
        )


def _reasons(plan: Plan) -> Mapping[str, str]:
    pairs = (zone_plan.why_foreign.items() for zone_plan in plan.zone_plans)
    return dict(chain.from_iterable(pairs))

"""Why a site is where it is, or will be, and where else it could be: by the last plan that waits,
or by the partition in force.

Takes the facts of the next plan, and what is planned already. Returns the reasons. Does not solve
anything again.

It also tells who still comes to nodes that do not have the site: the doors that can be asked from
here are asked, where doors lead to the site.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from typing import TypedDict

from flex.model.limits_and_approvals import Stop
from flex.model.plan import Move, Plan
from flex.partition import rows_of_other_sites
from flex.placing import explain
from flex.placing.explain import Because
from flex.placing.other_nodes_for_site import Chosen
from flex.placing.problem import Ints, Problem, rows_of
from flex.planning import (
    propose_plan,
    unmovable_name_advice,
    which_rules_stop_moves,
)
from flex.planning.dependents_text import is_reason, reason_of_doors, stays_here
from flex.planning.facts_and_rules import Facts
from flex.planning.hold_sites_not_ready import hold
from flex.planning.movement_rules import COOLDOWN, LIFTED, OFTEN, REST, Guard
from flex.planning.names_edited_by_others import remark
from flex.planning.unmovable_sites import (
    add_traffic_parts,
    as_in,
    held_where_they_are,
    immovable_in,
    strays_in,
)
from flex.site_names_in_words import first_few
from flex.wishes import suspended_wishes
from flex.wishes.pins_for_solvers import unknown_site
from flex.zones.names_going_along import pairs_of
from flex.zones.records_of_partition import name_of
from flex.zones.what_leans_on_names import HINTS
from flex_api.facts import (
    core_to_output_models,
    earlier_nights,
    other_names_to_route,
    sites_of_failed_moves,
    visitors_at_other_nodes,
)
from flex_api.facts.forecast_loads import expect
from flex_api.facts.leaning_on_sites import leaning_on, leaning_rows
from flex_api.in_words import amounts
from flex_api.night import gather_facts, haproxy_pools_and_files, note_strays_of_doors
from flex_api.schemas.explain_output import ExplainOutput, OtherRow
from flex_api.schemas.strays import StrayRow, stray_row
from flex_api.wiring import World, nodes

# How many other places of a site are named.
MOST = 5
# Other names that a sentence has.
MOST_NAMES = 20


def explain_site(world: World, site: str) -> ExplainOutput:
    """Raises Unknown for a site nobody knows."""
    facts, _ = expect(world, gather_facts.facts(world, replayed=False))
    if site not in facts.sites:
        raise unknown_site(site, facts.sites)
    waiting = [
        one for one in world.store.plans(1) if one.state == "proposed" and one.base == facts.base
    ]
    plan = waiting[0].id if waiting else facts.base
    newest_plan = waiting[0] if waiting else _plan_in_force(world, facts.base)
    stuck = newest_plan is not None and site in immovable_in(newest_plan, facts, world.rules)
    movable, wished = set(facts.sites) - ({site} if stuck else set()), facts.pins
    kept = suspended_wishes.possible(facts.pins, movable, facts.nodes)
    facts = replace(facts, pins=kept.pins, guard=earlier_nights.guard(world, facts.period))
    facts = as_in(newest_plan, facts, world.rules, site) if newest_plan else facts
    problem = propose_plan.build(facts, world.rules)
    rows = _planned_rows(world, problem, facts, plan) if waiting else problem.old
    position = problem.sites.index(site)
    not_ours = list(_not_ours(world, newest_plan, site))
    # What somebody changed is to take back only where the name is FLEX's.
    edit = (
        next((one for one in newest_plan.said.edits if one.name == name_of(site)), None)
        if newest_plan and not not_ours
        else None
    )
    why = propose_plan.because(facts, world.clock())
    put_off = newest_plan.put_off if newest_plan else ()
    later = [move for move in put_off if move.site == site]
    leaning = leaning_on(newest_plan, site)
    unready = [one for one in newest_plan.not_ready if one.site == site] if newest_plan else []
    held_back = [f"its new node is not ready: {one.why}" for one in unready]
    if left := facts.content.away.get(site):
        held_back.append(f"{left.sentence}; nobody answers for it until that node is back")
    moves_it = [made for made in waiting if any(move.site == site for move in made.moves)]
    # A plan that moves it was made past its rest, or before the move that failed.
    since = moves_it[0].wall_time if moves_it else None
    # What is pinned to just these nodes would stay without its rest, too.
    planned_nodes = set(rows[rows[:, 0] == position, 1].tolist())
    if not stuck and planned_nodes - problem.pinned.get(position, frozenset()):
        held_back += _rests(world, replace(facts, pins=wished), site, since)
    ahead = [] if later or edit or held_back else _not_yet(problem, rows, position, why)
    return ExplainOutput(
        site=site,
        plan=plan,
        nodes=[problem.nodes[node] for node in sorted(planned_nodes)],
        replicas=int(problem.replicas[position]),
        asks_units=dict(zip(problem.dimensions, problem.load[position].tolist(), strict=True)),
        reasons=[
            *map(_put_off, later),
            *not_ours,
            *(_as_planned(waiting[0], site) if waiting else _as_carried_out(newest_plan, site)),
            *ahead,
            *held_back,
            *(
                [remark(edit)]
                if edit
                else ()
                if held_back
                else _stays(
                    problem,
                    rows,
                    position,
                    _rules_in_the_way(newest_plan, facts.guard, site),
                    put_off,
                    why,
                )
            ),
            *_rules_that_keep(
                facts.guard,
                which_rules_stop_moves.sites_with_spare_nodes(problem).get(site, 0),
                site,
            ),
            *_given_way(kept.suspended, site),
            *(_tell_other_names(newest_plan, site) if newest_plan else ()),
            *(
                f"{'would not change with it' if one.kind in HINTS else 'moves along with it'}: "
                f"{one.what}"
                for one in leaning
                if not one.stays
            ),
        ],
        # Nowhere else while it is left alone.
        others=[]
        if edit or stuck or held_back
        else [
            OtherRow.like(other, off_ratio=other.off)
            for other in Chosen(problem, rows).others(position)[:MOST]
        ],
        leaning=leaning_rows(leaning),
        edited=core_to_output_models.edit_row(edit) if edit else None,
        **_visitors_elsewhere(
            world, site, [problem.nodes[node] for node in _nodes_now(problem, position)]
        ),
    )


def _rests(world: World, facts: Facts, site: str, since: datetime | None) -> list[str]:
    """Return why it rests since its last move failed, or stays together with a site that does, as
    the next plan has it.
    """
    resting = replace(
        facts, held=sites_of_failed_moves.resting_sites(world, since=since), unready={}
    )
    movable = rows_of_other_sites(facts.placement, facts.fixed)
    held = hold(replace(resting, held=held_where_they_are(movable, resting))).held
    return [held[site]] if site in held else []


def _planned_rows(world: World, problem: Problem, facts: Facts, plan: str) -> Ints:
    """With what comes by other names, which is in no partition that is kept."""
    return rows_of(problem, add_traffic_parts(world.store.placement_of(plan), facts))


def _tell_other_names(plan: Plan, site: str) -> Iterator[str]:
    """The names that go where it goes, and what of its traffic counts elsewhere as others
    do not.
    """
    left = {name for zone_plan in plan.zone_plans for name in zone_plan.why_foreign}
    along = [
        name for name, of in pairs_of(plan.zone_plans) if of == site and name_of(name) not in left
    ]
    if along:
        named = first_few(along, MOST_NAMES)
        yield f"its other names have its addresses, and go where it goes: {named}"
    for stray in strays_in(plan):
        if stray.site == site and stray.other.share:
            nodes = ", ".join(node for node, _ in stray.parts) or "no node of ours"
            yield (
                f"{stray.name}, another name of it, does not move with it: "
                f"{amounts.share(stray.other.share.bytes)} of its bytes are sent by that "
                f"name, and count at {nodes}"
            )


def _nodes_now(problem: Problem, site: int) -> list[int]:
    """In the partition in force, by which doors lead until a plan is applied."""
    positions: list[int] = problem.old[problem.old[:, 0] == site, 1].tolist()
    return positions


class VisitorsElsewhere(TypedDict):
    """As the explanation has it."""

    visitors: list[StrayRow]
    visitors_not_known: list[str]


def _visitors_elsewhere(world: World, site: str, here: Collection[str]) -> VisitorsElsewhere:
    settings, store, now = world.settings, world.store, world.time_of_day()
    if not here or not settings.routing.publishing().sites_led_by_doors([site]):
        return VisitorsElsewhere(visitors=[], visitors_not_known=[])
    note_strays_of_doors.note_strays(settings, store, now)
    names = [site, *other_names_to_route.other_names(settings, [site])[site]]
    visitors = visitors_at_other_nodes.visitors(store.strays(names), lambda _: site, lambda _: here)
    serving = haproxy_pools_and_files.addresses(nodes(settings, store))
    elsewhere = [node for node in serving if node not in here]
    seen = {each.node for each in visitors}
    unknown = visitors_at_other_nodes.not_known(store.doors_read(), elsewhere, now)
    return VisitorsElsewhere(
        visitors=[stray_row(each) for each in visitors],
        visitors_not_known=[node for node in unknown if node not in seen],
    )


def _as_planned(plan: Plan, site: str) -> Iterator[str]:
    """What the plan says of it, as it was found with what DNS said then."""
    for move in plan.moves:
        if move.site == site:
            way = f"{move.source} -> " if move.source else "to "
            yield f"{way}{move.target or 'given up'}: {move.reason}"


def _as_carried_out(plan: Plan | None, site: str) -> Iterator[str]:
    """How it came to its node by the plan in force."""
    if plan is None or plan.in_force_since is None:
        return
    when = amounts.when(plan.in_force_since)
    for move in plan.moves:
        if move.site == site and move.source and move.target:
            yield f"on {move.target} since {when}, from {move.source}: {move.reason}"


def _not_yet(problem: Problem, rows: Ints, site: int, why: Because) -> list[str]:
    """What somebody wishes of it that is not so by these rows, and will be by a plan made now."""
    on = set(rows[rows[:, 0] == site, 1].tolist())
    missing = sorted(problem.pinned.get(site, frozenset()) - on)
    if not missing:
        return []
    nodes = ", ".join(problem.nodes[node] for node in missing)
    when = why.when(problem.sites[site])
    return [f"a new plan brings it to {nodes}, as the limits let it: pinned{when}"]


def _stays(
    problem: Problem,
    rows: Ints,
    site: int,
    stops: Iterator[str],
    put_off: Sequence[Move],
    why: Because,
) -> Iterator[str]:
    """Nothing of nodes that it leaves later, or by a plan made now for the sake of a wish."""
    stopped = "; ".join(stops)
    before = set(problem.old[problem.old[:, 0] == site, 1].tolist())
    here = rows[rows[:, 0] == site, 1].tolist()
    leaves = {move.source for move in put_off if move.site == problem.sites[site]}
    pinned = problem.pinned.get(site, frozenset())
    if pinned - set(here):
        leaves |= {problem.nodes[node] for node in set(here) - pinned}
    later = {node for move in put_off for node in (move.source, move.target) if node}
    for node in here:
        if node in before and problem.nodes[node] not in leaves:
            reason = explain.stays(problem, rows, site, node, stopped, later, why)
            yield f"stays on {problem.nodes[node]}: {reason}"


def _plan_in_force(world: World, base: str) -> Plan | None:
    return world.store.plan(base) if base else None


def _not_ours(world: World, plan: Plan | None, site: str) -> Iterator[str]:
    """What the plan found of a name that is not FLEX's to change."""
    for zone_plan in plan.zone_plans if plan else ():
        for name, reason in zone_plan.why_foreign.items():
            if name == name_of(site) and is_reason(reason):
                stays = any(dependent.stays for dependent in leaning_on(plan, site))
                yield stays_here(reason, site) if stays else reason_of_doors(reason)
            elif name == name_of(site) and not unmovable_name_advice.is_told_otherwise(reason):
                yield unmovable_name_advice.remark(
                    name, zone_plan.zone, reason, world.settings.owner
                )


def _put_off(move: Move) -> str:
    return f"{move.source or 'new'} -> {move.target or 'given up'}, later: {move.reason}"


def _rules_in_the_way(plan: Plan | None, guard: Guard, site: str) -> Iterator[str]:
    """The rules without which the site would move, as was found when the plan was made; limits of a
    night have their own sentence.
    """
    why = {each.rule: each.sites[site] for each in guard.resting if site in each.sites}
    put_off = plan is not None and any(move.site == site for move in plan.put_off)
    for stop in (*plan.stops, *plan.holds) if plan else ():
        if site in stop.sites and not (put_off and stop.rule in LIFTED):
            yield _rule(stop, why.get(stop.rule, ""))


def _rule(stop: Stop, rests: str) -> str:
    if rests:
        return f"{rests}: {stop.rule} is {stop.limit} (past it: {stop.way_past})"
    if stop.rule in (COOLDOWN, OFTEN, REST):
        # What the rule says of them is not said of this one, which makes room for them.
        return f"other sites rest: {stop.rule} is {stop.limit} (past it: {stop.way_past})"
    return stop.sentence


def _rules_that_keep(guard: Guard, count: int, site: str) -> list[str]:
    """By which rule it keeps more nodes than it needs; nothing where it does not."""
    rules = [
        f"{each.rule} is {each.limit}"
        for each in guard.resting
        if 0 < count <= each.needed.get(site, 0)
    ]
    return [f"keeps {count} nodes: it needed as many lately; {', '.join(rules)}"] if rules else []


def _given_way(suspended: Sequence[str], site: str) -> list[str]:
    """What of the site's own wish cannot be kept now; each is told after the name of its site."""
    return [f"its wish gives way: {why}" for why in suspended if why.partition(" (")[0] == site]

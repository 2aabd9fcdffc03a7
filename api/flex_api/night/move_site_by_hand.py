"""The plan that moves one site, as somebody wants it, and what else that means.

Takes a world whose lease is held, a site, and the nodes that it is to go to. Returns the plan,
which waits like any other. Asks the new nodes whether they are ready first. Does not carry it out.

Nothing is wished by it: the site rests for `safety.site_cooldown` once the plan is applied, and
then it is a site like any other. Whoever wants it to stay makes a wish.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from flex.errors import Held, Unknown
from flex.frame_schemas import texts
from flex.model.plan import Plan
from flex.planning import given_partition
from flex.planning.facts_and_rules import Facts
from flex.planning.movement_rules import COOLDOWN, TRIGGER
from flex.planning.propose_plan import Proposal
from flex.wishes import suspended_wishes
from flex_api.facts import earlier_nights, sites_of_failed_moves
from flex_api.facts.forecast_loads import expect
from flex_api.in_words import amounts
from flex_api.moving import readiness_replanning
from flex_api.night import gather_facts, may_plan_be_applied, nightly
from flex_api.night.preview_rollback import NOT_KEPT
from flex_api.which_names_are_sites import site_name
from flex_api.wiring import World, site_names


def make_plan(world: World, site: str, to: Sequence[str], author: str) -> Plan:
    """Raises what `move_site` raises, and Held where a plan is half applied."""
    return nightly.keep(world, _proposal(world, site, to), author).plan


def try_plan(world: World, site: str, to: Sequence[str], author: str) -> Plan:
    """The same, put aside: nobody can carry out what somebody merely looked at."""
    plan = _proposal(world, site, to).plan
    return replace(plan, state="discarded", author=author, message=NOT_KEPT)


def refuse_at_once(world: World, site: str, to: Sequence[str]) -> None:
    """Raises what can be said without any search, before a job begins."""
    may_plan_be_applied.refuse_half_applied(world, f"moving {site}")
    site = site_name(site)
    known = gather_facts.facts(world, replayed=False)
    refuse_no_site(world, site, known)
    given_partition.refuse_senseless(known, site, to)


def _proposal(world: World, site: str, to: Sequence[str]) -> Proposal:
    may_plan_be_applied.refuse_half_applied(world, f"moving {site}")
    site = site_name(site)
    plain = gather_facts.facts(world)
    refuse_no_site(world, site, plain)
    known, outlook = expect(world, plain)
    facts = replace(
        known,
        held=sites_of_failed_moves.resting_sites(world),
        guard=earlier_nights.guard(world, known.period),
    )
    proposal = readiness_replanning.plan_of_ready(
        world,
        facts,
        lambda trial_facts: given_partition.move_site(
            trial_facts,
            world.rules,
            site,
            to,
            scratch=world.scratch,
            publisher=world.publisher,
            now=world.clock(),
        ),
    )
    notes = (*proposal.plan.notes, *what_else_it_means(world, proposal.plan, site, facts))
    return replace(proposal, plan=replace(proposal.plan, notes=notes, outlook=outlook))


def refuse_no_site(world: World, site: str, facts: Facts) -> None:
    """Raises Unknown for another name of a site, and Held for one that FLEX is kept away from."""
    doing = f"moving {site}"
    if any(pin.excluded and pin.site == site for pin in world.pins):
        raise Held(
            doing,
            "people keep FLEX away from it",
            advice=f"`flex sites unpin {site}` lets FLEX move it again",
        )
    known = set(facts.sites)
    rule = site_names(world.settings)
    if site in known or rule.every_host:
        return
    named = rule.naming_of_names()(site)
    if named != site and named in known:
        raise Unknown(
            doing,
            f"{site} is another name of {named}, and goes where that goes",
            advice=f"say {named}",
        )


def what_else_it_means(world: World, plan: Plan, site: str, facts: Facts) -> Iterator[str]:
    """For whoever is about to say yes: is it balanced after, and does it stay there?"""
    safety = world.settings.safety
    if why := facts.guard.staying.get(site):
        yield f"{site} {why}; it moves all the same, as somebody wants it"
    worst, trigger = plan.after.worst, safety.trigger_imbalance
    is_calm = worst <= trigger
    within = "within" if is_calm else "over"
    yield (
        f"the worst node would be {plan.after.worst_node or 'none'}, "
        f"{amounts.share(worst)} off its fair share, which is {within} {TRIGGER}, "
        f"{amounts.share(trigger)}"
    )
    if wished := _wished_elsewhere(world, plan, site):
        yield f"the next night would move {site} back, as {wished}"
        return
    nodes = ",".join(sorted(_nodes_after(plan, site)))
    pin = f"`flex sites pin {site} --nodes {nodes}` keeps it there"
    rests = _rests(world, plan, site)
    if rests:
        yield f"no night moves {site} for {amounts.span(safety.site_cooldown)} ({COOLDOWN})"
    if is_calm:
        yield f"no night moves anything while the worst node is within {TRIGGER}; {pin}"
    else:
        when = "after that" if rests else f"as {COOLDOWN} does not hold it, the next night"
        yield f"{when} {'a night ' if rests else ''}may move {site} again; {pin}"


def _nodes_after(plan: Plan, site: str) -> set[str]:
    return {move.target for move in plan.moves if move.site == site and move.target}


def _rests(world: World, plan: Plan, site: str) -> bool:
    draining = {node.name for node in world.nodes if node.state == "draining"}
    moved = earlier_nights.sites_that_rest_after(plan, draining)
    return bool(world.settings.safety.site_cooldown) and site in moved


def _wished_elsewhere(world: World, plan: Plan, site: str) -> str:
    """Which wish the move goes against, in words."""
    _, before = world.store.placement()
    pins = [pin for pin in world.pins_of_next_plan if pin.site == site]
    had = suspended_wishes.places(pins, before)
    gone = {move.source for move in plan.moves if move.site == site}
    rows = before[before["site"] == site]
    kept = set(texts(rows["node"])) - gone
    has = {**had, site: frozenset(kept | _nodes_after(plan, site))}
    against = [pin for pin in pins if suspended_wishes.is_against_wish(pin, had, has)]
    if not against:
        return ""
    by = f" of {against[0].author}" if against[0].author else ""
    return f"a wish{by} has it elsewhere: `flex explain {site}`"

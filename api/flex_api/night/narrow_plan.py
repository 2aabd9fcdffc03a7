"""A plan that is half applied, of which some sites cannot be carried out, or cannot be taken back:
a narrower one goes on in its place.

Takes a world whose lease is held, and a plan of which nothing is in DNS yet, or no more. Returns
the plan that is to be carried out in its place, half applied as the other one was. Does not write
to DNS.

A site with one writer that doors have led on has been answered at its new node, and what visitors
wrote is there alone. So no plan takes it back: it keeps its new node, and DNS follows.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace

from flex.errors import Held, Outdated
from flex.model.plan import Plan, PlanState
from flex.planning import leave_sites_out_of_plan
from flex.planning.propose_plan import Proposal
from flex.site_names_in_words import first_few
from flex_api.night import gather_facts, store_order_for_doors, writer_nodes
from flex_api.wiring import World


def led_on_already(world: World, plan: Plan) -> frozenset[str]:
    """The sites with one writer that are at their new nodes, though the plan is not in force."""
    if not world.settings.routing.has_stateful:
        return frozenset()
    _, in_force = world.store.placement()
    return frozenset(writer_nodes.elsewhere_now(world, in_force, plan.id))


def leave_out_sites(world: World, plan: Plan, staying: Mapping[str, str]) -> Plan:
    """The plan without the sites that stay, each with the reason; where the rest is no good alone,
    with what doors have led on and nothing else.

    Raises Held where nothing of it is left.
    """
    led = led_on_already(world, plan)
    try:
        proposal = _narrow(world, plan, staying, led)
    except (Held, Outdated) as error:
        if not led:
            raise
        world.say(f"The rest of it is not carried out: {error.answer}.")
        return only(world, plan, led, because=staying)
    message = f"goes on as {proposal.plan.id}, without {first_few(sorted(staying))}"
    gently = replace(proposal, plan=replace(proposal.plan, moving_ttl=plan.moving_ttl))
    return _replace_by_narrower(world, plan, gently, "discarded", message)


def only(
    world: World, plan: Plan, led: Collection[str], because: Mapping[str, str] | None = None
) -> Plan:
    """The plan with nothing but these sites. It is not judged, as they are there already."""
    named = first_few(sorted(led))
    others = {move.site for move in plan.moves} - set(led)
    staying = dict.fromkeys(others, f"plan {plan.id} was taken back, but for {named}")
    proposal = _narrow(world, plan, {**staying, **(because or {})}, led, judged=False)
    message = (
        f"taken back, but for {named}: visitors were answered at their new nodes "
        f"already, and {proposal.plan.id} goes on with that"
    )
    # Visitors are there already: nobody has to wait for resolvers, or for a node to be well.
    at_once = replace(proposal, plan=replace(proposal.plan, moving_ttl=None))
    return _replace_by_narrower(world, plan, at_once, "failed", message)


def _narrow(
    world: World,
    plan: Plan,
    staying: Mapping[str, str],
    led: Collection[str],
    *,
    judged: bool = True,
) -> Proposal:
    return leave_sites_out_of_plan.leave_out(
        plan,
        world.store.placement_of(plan.id),
        staying,
        gather_facts.facts(world),
        world.rules,
        scratch=world.scratch,
        publisher=world.publisher,
        now=world.clock(),
        gone=led,
        judged=judged,
    )


def _replace_by_narrower(
    world: World, plan: Plan, proposal: Proposal, state: PlanState, message: str
) -> Plan:
    """All of it is in the store or nothing: doors go by a plan that is half applied at any time."""
    store = world.store
    coming = replace(proposal.plan, state="applying")
    moved = {(move.site, move.target) for move in coming.moves}
    with store.together():
        waiting = store_order_for_doors.waiting_of(store, plan.id)
        store.propose(proposal.plan, proposal.placement)
        store.update(coming)
        store.update(replace(plan, state=state, message=message, taking_back=False))
        store.put_site_moves(
            [
                replace(move, plan=coming.id)
                for move in store.site_moves(plan=plan.id, only_open=True)
                if move.state == "ready" and (move.site, move.target) in moved
            ]
        )
        store_order_for_doors.order(
            world.settings, store, coming.id, waiting & {site for site, _ in moved}, held=()
        )
    return coming

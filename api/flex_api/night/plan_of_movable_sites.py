"""The plan that is carried out: the one that was agreed to, without sites that cannot move now.

Takes a world whose lease is held, and a plan. Returns the plan that is to be carried out. Brings
what sites need to their new nodes first. Does not carry anything out.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from flex.model.plan import Plan
from flex.planning import leave_sites_out_of_plan
from flex.planning.propose_plan import Proposal
from flex.site_names_in_words import first_few
from flex_api.facts.move_progress import REPLACED
from flex_api.night import bring_what_sites_need, gather_facts
from flex_api.wiring import World


def bring_and_narrow(world: World, plan: Plan) -> Plan:
    """The same plan where every site can move. Else a new one in its place, which does less, and
    counts as agreed to as it is.

    Raises Held where nothing is left of it, or where the rest must not be done alone.
    """
    staying = bring_what_sites_need.bring(world, plan)
    if not staying:
        return plan
    for site, why in sorted(staying.items()):
        world.say(f"{site} stays where it is: {why}.")
    proposal = leave_sites_out_of_plan.leave_out(
        plan,
        world.store.placement_of(plan.id),
        staying,
        gather_facts.facts(world),
        world.rules,
        scratch=world.scratch,
        publisher=world.publisher,
        now=world.clock(),
    )
    return _put_in_its_place(world, plan, proposal, staying)


def _put_in_its_place(
    world: World, plan: Plan, proposal: Proposal, staying: Mapping[str, str]
) -> Plan:
    message = f"{REPLACED} {proposal.plan.id}, without {first_few(sorted(staying))}"
    moved = {(move.site, move.target) for move in proposal.plan.moves}
    with world.store.together():
        world.store.propose(proposal.plan, proposal.placement)
        world.store.update(replace(plan, state="discarded", message=message))
        world.store.put_site_moves(
            [
                replace(move, plan=proposal.plan.id)
                for move in world.store.site_moves(plan=plan.id, only_open=True)
                if move.state == "ready" and (move.site, move.target) in moved
            ]
        )
    bring_what_sites_need.end_unneeded(
        world,
        plan,
        {
            move.site: f"it stays with {first_few(sorted(staying))}"
            for move in world.store.site_moves(plan=plan.id)
        },
    )
    return proposal.plan

"""Gives up a plan that is half applied and cannot be finished: what DNS says becomes the partition
in force, and of sites with one writer what doors say.

Takes a plan that was begun. Returns the ids of the plans that were given up. Does not write records
of sites to DNS; it only makes sure that an update that arrives late is refused.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace

from flex.errors import Refused
from flex.model.plan import Plan
from flex.planning import carry_out_plan
from flex_api.night import route_requests_by_plan, writers_at_doors
from flex_api.wiring import World


def give_up(world: World) -> tuple[str, ...]:
    """The plans that were half applied. From now on what DNS says is the partition in force."""
    begun = world.store.plans(state="applying")
    for plan in begun:
        abandon(world, plan)
    return tuple(plan.id for plan in begun)


def abandon(world: World, plan: Plan) -> None:
    refuse_late(world, plan)
    carry_out_plan.abandon(
        replace(plan, taking_back=False),
        world.store.placement_of(plan.id),
        nodes=world.nodes,
        zones=world.settings.dns.every_zone,
        publisher=world.publisher,
        store=world.store,
        publishing=world.rules.publishing,
        as_led=lambda said: writers_at_doors.as_led_now(world, said, plan.id),
    )
    world.store.new_journal(plan.id)
    route_requests_by_plan.reroute(world)


def refuse_late(world: World, plan: Plan) -> None:
    """The name servers refuse what an earlier run sent, or sends late because it slept."""
    # A server that refuses this refuses what is on its way there, too; shadow mode never writes.
    if world.settings.cluster.mode != "shadow":
        with suppress(Refused):
            world.publisher.refuse_late(*(one.zone for one in plan.zone_plans if one.changes))

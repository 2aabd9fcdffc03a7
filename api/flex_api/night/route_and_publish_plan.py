"""Carries out a plan: routes its requests and writes its records to DNS.

Takes a plan that may_plan_be_applied.py let through, by a run that holds the lease. Returns the
plan as it ended. Does not ask whether the plan is allowed. Takes the whole plan back where a node
is not well.
"""

from __future__ import annotations

from collections.abc import Callable

from flex.errors import DnsError, FlexError, OnTheWay, Unwell
from flex.model.plan import Plan
from flex.placing import failover
from flex.planning import carry_out_plan
from flex.site_names_in_words import first_few
from flex_api.in_words import amounts
from flex_api.night import (
    make_before_break_plans,
    narrow_plan,
    one_writer_moves,
    plan_undo,
    route_requests_by_plan,
    which_haproxies_reload,
)
from flex_api.night.lead_doors_by_plan import DoorsOfNodes
from flex_api.wiring import World


def carry_out(
    world: World, plan: Plan, enters: Callable[[str], None] = carry_out_plan.unheard
) -> Plan:
    """The plan as it ended, or the narrower one that went on in its place. First of all the nodes
    are named whose HAProxy reloads for it, and sites with one writer are moved one by one.

    Requests are routed by the plan before DNS changes. A plan that takes out a dead node is the
    exception: only doors for all sites change before DNS, which takes a moment, and the files of
    replicated sites are delivered after it. Where DNS cannot be changed then, the doors lead around
    the dead node all the same.

    Raises Unwell where a node that gets sites is not well. Then all of the plan is taken back.
    """
    is_failover = plan.quality.solver == failover.SOLVER
    doors = DoorsOfNodes(world) if world.settings.routing.leads_to_all else None
    if not is_failover:
        which_haproxies_reload.tell_of_reloads(world, plan.id)
        plan = one_writer_moves.move(world, plan)
    if not is_failover and not doors:
        route_requests_by_plan.reroute(world, plan.id)
    led = () if is_failover else narrow_plan.led_on_already(world, plan)
    try:
        done = _publish(world, plan, enters, doors)
    except FlexError as error:
        route_requests_by_plan.reroute(world)
        if led and isinstance(error, DnsError):
            # Of the same kind: whoever ends what a killed run began goes by that.
            raise type(error)(
                error.asked,
                error.answer,
                kept=f"DNS says what it said before, and doors lead {first_few(sorted(led))} "
                "to their new nodes already",
                advice=f"{error.advice}; then `flex apply --resume` tries to have DNS follow",
            ) from error
        raise
    if is_failover:
        route_requests_by_plan.reroute(world)
    return done


def _publish(
    world: World, plan: Plan, enters: Callable[[str], None], doors: DoorsOfNodes | None
) -> Plan:
    plan = make_before_break_plans.begin(world, plan)
    try:
        return carry_out_plan.carry_out(
            plan,
            world.store.placement_of(plan.id),
            nodes=world.nodes,
            ttl=world.settings.dns.ttl,
            publisher=make_before_break_plans.publisher(world, plan, doors),
            store=world.store,
            now=world.clock(),
            patience=world.settings.dns.settle.total_seconds(),
            enters=enters,
            doors=doors,
        )
    except Unwell as error:
        raise _undo_all(world, plan, error, doors) from error


def _undo_all(world: World, plan: Plan, error: Unwell, doors: DoorsOfNodes | None) -> Unwell:
    """The error that says so, once all of the plan is taken back that can be."""
    try:
        rest = plan_undo.undo(world, plan)
    except OnTheWay as trouble:
        raise OnTheWay(
            error.asked,
            f"{error.answer}; and {trouble.answer}",
            kept=trouble.kept,
            advice=trouble.advice,
        ) from trouble
    kept = (
        "what was begun was taken back: DNS says what it said before, except for what others wrote"
    )
    if rest:
        done = _publish(world, rest, carry_out_plan.unheard, doors)
        sites = amounts.count(len(done.moves), "site")
        kept = f"{kept}; {sites} with one writer moved all the same"
    return Unwell(error.asked, error.answer, kept=kept, advice=error.advice)

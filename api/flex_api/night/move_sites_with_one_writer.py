"""Moves the sites of a plan that have one writer, before any other is led to its new node, and
before DNS changes.

Takes a world whose lease is held, and a plan that may be carried out, or that a killed run began.
Returns the plan that is to be carried out: the same one, or a narrower one where such a site had to
stay. Where doors lead to no such site elsewhere, nothing is done.

By the doors' last order it is known how far a killed run came: a site that they lead to its new
node is there, and any other is at its old one, or waits.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Iterable, Mapping
from functools import partial

from flex.errors import Held, NoneMoved
from flex.model.plan import Plan
from flex.model.site_moves import NOT_NOW, SiteMove
from flex.placing import failover
from flex.planning import new_nodes_by_site, refuse_ended_or_outdated
from flex_api.in_words import amounts
from flex_api.moving.commands_of_site import hooks_now
from flex_api.moving.stages_of_one_site import OnItsWay, failure
from flex_api.night import (
    go_on_with_moves,
    hold_at_doors,
    make_before_break_plans,
    narrow_half_applied_plan,
    store_order_for_doors,
    take_back_half_applied_plan,
    writers_at_doors,
)
from flex_api.night.hold_copy_and_switch import hold_copy_and_switch
from flex_api.night.writers_at_doors import Elsewhere
from flex_api.wiring import World

NOT_BROUGHT = "what it needs was not brought to its new node"
# Between two looks whether new nodes have heard, in seconds.
_LOOK = 0.05


def to_be_led_on(world: World, plan: Plan) -> Mapping[str, Elsewhere]:
    """The sites with one writer that the plan has at another node than doors lead to. Those of a
    dead node are not among them: nobody can hold them there.
    """
    is_failover = plan.quality.solver == failover.SOLVER
    if is_failover or not world.settings.routing.has_stateful:
        return {}
    coming = world.store.placement_of(plan.id)
    return writers_at_doors.elsewhere_now(world, coming, plan.id)


def move(world: World, plan: Plan) -> Plan:
    """Raises NoneMoved where nothing of the plan is left: then nothing of it was done. Raises
    LostLease where a dead node cannot wait.
    """
    coming = to_be_led_on(world, plan)
    if not coming:
        return plan
    plan = make_before_break_plans.begin(world, plan)
    plan, _ = refuse_ended_or_outdated.begin(plan, world.store)
    _order_doors(world, plan)
    wanted, staying = _to_run(world, plan, coming)
    wanted = _whose_new_nodes_hear(world, plan, wanted)
    if wanted:
        sites = amounts.count(len(wanted), "site")
        world.say(f"Moving {sites} with one writer: requests wait meanwhile.")
        go_on_with_moves.run(world, wanted, partial(hold_copy_and_switch, plan=plan))
    staying |= {
        move.site: move.reason
        for move in world.store.site_moves(plan=plan.id, only_open=True)
        if move.state == "taking back" and move.site in coming
    }
    if not staying:
        return plan
    # Also those that a killed run had wait.
    hold_at_doors.release(world, plan, staying, 0)
    for site, why in sorted(staying.items()):
        world.say(f"{site} stays where it is: {why}.")
    return _without(world, plan, staying)


def _order_doors(world: World, plan: Plan) -> None:
    """At first all that get new nodes wait; such a plan may become narrower."""
    last = world.store.door_order()
    if last and last.plan == plan.id:
        return
    _, in_force = world.store.placement()
    coming = world.store.placement_of(plan.id)
    waiting = new_nodes_by_site.new_nodes(in_force, coming)
    store_order_for_doors.order(world.settings, world.store, plan.id, waiting)


def _to_run(
    world: World, plan: Plan, coming: Mapping[str, Elsewhere]
) -> tuple[list[OnItsWay], dict[str, str]]:
    """What is run for each of the sites, and the sites that have to stay."""
    known = {
        (move.site, move.source, move.target): move
        for move in world.store.site_moves(plan=plan.id, only_open=True)
        if move.state == "ready"
    }
    hooks, now = hooks_now(world), world.time_of_day()
    moves: list[SiteMove] = []
    staying: dict[str, str] = {}
    for site, way in coming.items():
        brought = known.get((site, way.now, way.wanted))
        if brought:
            moves.append(brought)
        elif hooks.of(site):
            staying[site] = NOT_BROUGHT
        else:
            id_ = secrets.token_hex(go_on_with_moves.NUMBER)
            move = SiteMove(id_, site, way.now, way.wanted, plan.id, now, "ready")
            moves.append(move)
    world.store.put_site_moves(moves)
    return go_on_with_moves.with_commands(world, moves, hooks), staying


def _whose_new_nodes_hear(world: World, plan: Plan, wanted: list[OnItsWay]) -> list[OnItsWay]:
    """Those whose new nodes go by the plan's order within the time that requests may wait. The
    others stay: nobody would answer for them at a node that hears of no order. No request waits for
    that.
    """
    nodes, last = {one.move.target for one in wanted}, world.store.door_order()
    until = time.monotonic() + world.settings.routing.hold_time.total_seconds()
    while deaf := _unheard(world, plan, nodes, last.number if last else 0):
        if time.monotonic() > until:
            break
        time.sleep(_LOOK)
    for one in wanted:
        if why := deaf.get(one.move.target):
            reason = hold_at_doors.unheard_at(one.move.target, why)
            one.store(failure(one, reason, NOT_NOW))
    return [one for one in wanted if one.move.target not in deaf]


def _unheard(world: World, plan: Plan, nodes: Iterable[str], number: int) -> dict[str, str]:
    said = {node: hold_at_doors.why_unheard(world, plan, node, number) for node in sorted(nodes)}
    return {node: why for node, why in said.items() if why}


def _without(world: World, plan: Plan, staying: Mapping[str, str]) -> Plan:
    """What was brought for those that stay is taken back once the rest is in force."""
    try:
        return narrow_half_applied_plan.without(world, plan, staying)
    except Held as error:
        take_back_half_applied_plan.undo(world, plan)
        go_on_with_moves.go_on(world)
        raise NoneMoved(
            error.asked, error.answer, kept="nothing was changed", advice=error.advice
        ) from error

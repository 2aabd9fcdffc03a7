"""A person's order to apply a plan, or to accept one that is in DNS already.

Takes a plan's id and the rules that somebody goes over by name, by a run that holds the lease.
Returns the plan as it ended. Does not ask the rules itself (may_plan_be_applied.py) and does not
write to DNS itself (route_and_publish_plan.py).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

from flex.errors import held_or_frozen
from flex.model.plan import Plan
from flex.planning import carry_out_plan
from flex_api.night import (
    bring_what_sites_need,
    freezes,
    go_on_with_moves,
    human_decision_records,
    make_before_break_plans,
    may_plan_be_applied,
    plan_approvals,
    plan_of_movable_sites,
    recovery,
    route_and_publish_plan,
    route_requests_by_plan,
    warm_nodes,
)
from flex_api.wiring import World


def apply(
    world: World,
    plan_id: str,
    *,
    force: Sequence[str] = (),
    checksum: str = "",
    enters: Callable[[str], None] = carry_out_plan.unheard,
    unread: human_decision_records.Unread | None = None,
) -> Plan:
    """Carry out a plan as it was approved, or finish it where a killed run began it. Raises Held
    when a rule forbids it and was not forced by name, or when another plan is half applied.
    `unread` are the zones that this run could not read, where it has looked already.
    """
    if unread is None:
        unread = human_decision_records.settle(world, force)
    if plan_id in {begun.id for begun in world.store.plans(state="applying")}:
        return _go_on(world, plan_id, force, checksum, enters)
    may_plan_be_applied.refuse_half_applied(world, f"applying {plan_id}")
    plan = may_plan_be_applied.refuse_forbidden(world, plan_id, force=force, checksum=checksum)
    human_decision_records.refuse_unread([plan], unread)
    if make_before_break_plans.warms_first(world, plan):
        enters("warm")
        world.say(f"Warming up: {warm_nodes.ahead(world, plan)}.")
        # That took a while, and people may have thought again.
        plan = may_plan_be_applied.refuse_forbidden(world, plan_id, force=force, checksum=checksum)
    plan = _bring_and_recheck(world, plan, force, enters)
    done = route_and_publish_plan.carry_out(world, plan, enters)
    go_on_with_moves.mark_moves_made(world, done)
    return done


def _bring_and_recheck(
    world: World, plan: Plan, force: Sequence[str], enters: Callable[[str], None]
) -> Plan:
    if not bring_what_sites_need.brings(world, plan):
        return plan
    enters("bring")
    wanted = plan_of_movable_sites.bring_and_narrow(world, plan)
    # That took a while, too.
    return may_plan_be_applied.refuse_forbidden(world, wanted.id, force=force)


def _go_on(
    world: World, plan_id: str, force: Collection[str], checksum: str, enters: Callable[[str], None]
) -> Plan:
    plan = world.store.plan(plan_id)
    plan_approvals.refuse_other(plan.id, plan.digest, checksum, "finishing")
    if world.settings.cluster.mode == "shadow":
        raise may_plan_be_applied.shadow_error(plan)
    if broken := [stop for stop in freezes.current_stops(world) if stop.rule not in force]:
        raise held_or_frozen(broken)(
            f"finishing {plan_id}",
            "; ".join(map(str, broken)),
            kept="it stays half applied",
            advice=f"to finish it all the same: flex apply {plan_id} "
            + " ".join(f"--force {stop.rule}" for stop in broken),
            stops=broken,
        )
    recovery.finish(world, enters)
    go_on_with_moves.go_on(world)
    return world.store.plan(plan_id)


def accept(world: World, plan_id: str, *, force: Sequence[str] = (), checksum: str = "") -> Plan:
    """Put a plan in force that somebody put into DNS by other means. Nothing of it is sent; every
    name server is asked.
    """
    may_plan_be_applied.refuse_half_applied(world, f"applying {plan_id}")
    unread = human_decision_records.settle(world, force)
    plan = may_plan_be_applied.refuse_forbidden(world, plan_id, force=force, checksum=checksum)
    human_decision_records.refuse_unread([plan], unread)
    done = carry_out_plan.accept(
        plan,
        world.store.placement_of(plan.id),
        nodes=world.nodes,
        ttl=world.settings.dns.ttl,
        publisher=world.publisher,
        store=world.store,
        now=world.clock(),
        owner=world.settings.owner,
    )
    route_requests_by_plan.reroute(world)
    return done

"""Plans that are half applied, as their run was killed or a name server fell silent: each is
finished, taken back, narrowed or given up.

`end` carries out what a person ordered, and holds the lease itself: the command line and the REST
API both call it. `finish` is the next run's own way, and `make_way` that of a failover: both are
called by a run that holds the lease.

What is left of a plan is carried out. A plan that cannot be finished is taken back or given up
(plan_undo.py); narrow_plan.py leaves out the sites that cannot be carried out, or cannot be
taken back. Does not begin a plan.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from functools import partial
from typing import Literal

from flex.errors import (
    DnsError,
    NoneMoved,
    OnTheWay,
    PartlyApplied,
    Unreachable,
    Unverified,
    Unwell,
)
from flex.model.plan import Plan
from flex.planning import carry_out_plan
from flex.zones import zone_changes
from flex.zones.records_of_partition import addresses_of
from flex_api.night import (
    freezes,
    human_decision_records,
    make_before_break_plans,
    one_writer_moves,
    plan_undo,
    route_and_publish_plan,
)
from flex_api.night.leases import lease
from flex_api.night.record_stages import Steps
from flex_api.wiring import World

Way = Literal["resume", "undo", "abandon"]


def look_at_none(_: Sequence[Plan]) -> None:
    """Whatever was begun is ended."""


def end(
    world: World, way: Way, refuse: Callable[[Sequence[Plan]], None] = look_at_none
) -> list[Plan]:
    """What was begun is read under the lease, and `refuse` may raise for it: nothing is changed
    then.
    """
    with lease(world, way) as held:
        begun = world.store.plans(state="applying")
        refuse(begun)
        for plan in begun:
            held.concerns(plan)
        step = Steps(world, held.run)
        if way == "resume":
            step.run_work(partial(finish, world, step.enter), lambda _: "done")
        elif way == "undo":
            step(way, partial(plan_undo.take_back, world), ", ".join)
            # What sites with one writer did cannot be taken back.
            finish(world)
        else:
            step(way, partial(plan_undo.give_up, world), ", ".join)
        return [world.store.plan(plan.id) for plan in begun]


def finish(world: World, enters: Callable[[str], None] = carry_out_plan.unheard) -> None:
    """Finish every plan that a killed run began. A plan whose records somebody changed meanwhile
    is given up.
    """
    for plan in world.store.plans(state="applying"):
        if world.settings.cluster.mode == "shadow":
            world.say(
                f"Plan {plan.id} is half applied, and shadow mode never writes: "
                "nothing of it was finished."
            )
            continue
        before = world.store.in_force()
        way = "taken back" if plan.taking_back else "applied"
        world.say(f"Plan {plan.id} was being {way}; finishing it first.")
        _finish(world, plan, enters)
        in_force = world.store.in_force()
        if world.store.plan(plan.id).state == "applied":
            world.say(f"Plan {plan.id} is finished, and in force.")
        elif plan.id != in_force != before:
            world.say(f"Plan {in_force} went on in its place, and is in force.")


def finish_where_allowed(
    world: World,
    force: Collection[str] = (),
    enters: Callable[[str], None] = carry_out_plan.unheard,
) -> human_decision_records.Unread:
    """The same, but nothing is finished while changes are frozen or outside the windows. The rules
    in `force` are gone over. First of all the zones and the database tell each other what people
    decided; the zones are returned of which nobody knows whether they are frozen.
    """
    unread = human_decision_records.settle(world, force)
    stopped = [stop for stop in freezes.current_stops(world) if stop.rule not in force]
    if not stopped:
        finish(world, enters)
        return unread
    for plan in world.store.plans(state="applying"):
        world.say(
            f"Plan {plan.id} is half applied, and was not finished: "
            f"{'; '.join(stop.sentence for stop in stopped)}."
        )
    return unread


def _finish(world: World, plan: Plan, enters: Callable[[str], None]) -> None:
    try:
        _finish_or_end(world, plan, enters)
    except Unreachable as error:
        raise OnTheWay(
            error.asked,
            error.answer,
            kept=f"some of plan {plan.id}, which an earlier run began, may be in DNS",
            advice=f"{error.advice}; then `flex apply --resume` finishes it",
        ) from error


def _finish_or_end(world: World, plan: Plan, enters: Callable[[str], None]) -> None:
    """A name server that is away comes back, so its plan stays. A name server that refuses today
    refuses every night after, so its plan is ended.
    """
    try:
        if plan.taking_back:
            rest = plan_undo.undo(world, plan)
            if rest:
                route_and_publish_plan.carry_out(world, rest, enters)
        else:
            plan_undo.refuse_late(world, plan)
            route_and_publish_plan.carry_out(world, plan, enters)
    except (Unreachable, OnTheWay):
        raise
    except (Unwell, NoneMoved) as error:
        world.say(f"It was not finished ({error.answer}) and is taken back.")
    except (DnsError, PartlyApplied) as error:
        _end_unfinished(world, plan, error)


def _end_unfinished(world: World, plan: Plan, error: DnsError | PartlyApplied) -> None:
    """No site stays on its old and new nodes at once, or with the short TTL of a move."""
    if _is_on_its_way(world, plan):
        world.say(f"It cannot be finished ({error.answer}) and is taken back.")
        plan_undo.undo(world, plan)
        return
    world.say(
        f"It cannot be finished ({error.answer}); what DNS says now is the partition in force."
    )
    plan_undo.abandon(world, plan)


def _is_on_its_way(world: World, plan: Plan) -> bool:
    ttl = plan.moving_ttl
    if ttl is None:
        return False
    return any(
        zone_changes.is_on_its_way(
            zone_plan,
            world.publisher.read(
                zone_plan.zone,
                zone_changes.changed_names(zone_plan),
                hints=zone_changes.changed_hints(zone_plan),
            ),
            ttl,
        )
        for zone_plan in plan.zone_plans
    )


def make_way(world: World, dead: str) -> Unverified | None:
    """Call this before a dead node is taken out of DNS, which cannot wait. A plan that would have
    to wait for resolvers is taken back, any other plan is finished. Says who does not agree with
    what was finished.
    """
    unverified = None
    for plan in world.store.plans(state="applying"):
        would_wait = make_before_break_plans.is_gentle(
            world, plan
        ) or one_writer_moves.to_be_led_on(world, plan)
        if would_wait:
            _end_at_once(world, plan, dead)
    for _ in world.store.plans(state="applying"):
        try:
            finish(world)
        except Unverified as error:
            # Whoever answers otherwise does not keep the dead node in DNS.
            world.say(f"What was begun is finished, but {error}.")
            unverified = error
    return unverified


def _end_at_once(world: World, plan: Plan, dead: str) -> None:
    """Take the plan back, but bring no site back to the dead node. An error here does not keep the
    dead node in DNS.
    """
    world.say(f"Plan {plan.id} was on its way, and would have to wait; taking it back first.")
    try:
        plan_undo.undo(
            world, plan, besides=_began_at(plan, addresses_of(world.nodes, dead)), at_once=True
        )
    except OnTheWay as error:
        world.say(f"That failed ({error.answer}); what DNS says now is the partition in force.")
        plan_undo.abandon(world, plan)


def _began_at(plan: Plan, addresses: Collection[str]) -> set[str]:
    """The names that had one of these addresses before."""
    befores = (
        change.before
        for zone_plan in plan.zone_plans
        for change in zone_plan.changes
        if change.before
    )
    return {before.name for before in befores if not set(addresses).isdisjoint(before.values)}

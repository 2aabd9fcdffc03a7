"""The half of a night that changes DNS: carry out a plan, finish or give up one that was begun.

Who calls this holds the lease (leases.py). What must hold before a plan is carried out is asked
here, once.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from dataclasses import replace

from flex.errors import (
    DnsError,
    FlexError,
    Held,
    OnTheWay,
    PartlyApplied,
    Refused,
    Unreachable,
    Unwell,
)
from flex.loop import pending, planning
from flex.model.consent import Stop
from flex.model.plan import Plan
from flex.model.zone_plan import ZonePlan
from flex.placing import failover
from flex.zones import zone_changes
from flex.zones.marker import site_name
from flex.zones.records import ZoneState, addresses_of, by_name
from flex_api.known import outdated
from flex_api.night import (
    approving,
    delivering,
    freezing,
    gently,
    leases,
    stopping,
    warming,
)
from flex_api.told import words
from flex_api.wiring import World

# How many names a sentence lists.
NAMED = 10


def finish(world: World, enters: Callable[[str], None] = planning.unheard) -> None:
    """Apply to its end what a killed run began; give it up where somebody changed the records
    meanwhile.
    """
    for plan in world.store.plans(state="applying"):
        if world.settings.cluster.mode == "shadow":
            world.say(
                f"Plan {plan.id} is half applied, and shadow mode never writes: "
                "nothing of it was finished."
            )
            continue
        way = "taken back" if plan.taking_back else "applied"
        world.say(f"Plan {plan.id} was being {way}; finishing it first.")
        _finish(world, plan, enters)
        if world.store.plan(plan.id).state == "applied":
            world.say(f"Plan {plan.id} is finished, and in force.")


def finish_where_allowed(
    world: World,
    force: Collection[str] = (),
    enters: Callable[[str], None] = planning.unheard,
) -> None:
    """The same before what may wait: while changes are frozen, or outside the windows, nothing is
    finished.
    """
    stopped = [stop for stop in freezing.of_now(world) if stop.rule not in force]
    if not stopped:
        finish(world, enters)
        return
    for plan in world.store.plans(state="applying"):
        world.say(
            f"Plan {plan.id} is half applied, and was not finished: "
            f"{'; '.join(stop.sentence for stop in stopped)}."
        )


def refuse_half_applied(world: World, asked: str) -> None:
    """Raises Held: who only makes a plan changes nothing in DNS, and what is half there is no base
    for one.
    """
    if begun := world.store.plans(state="applying"):
        raise Held(
            asked,
            f"plan {begun[0].id} is half applied",
            kept="nothing was changed",
            advice="`flex apply --resume` finishes it, `flex apply --undo` takes it "
            "back; then ask again",
        )


def make_way(world: World, dead: str) -> None:
    """Before what cannot wait: what was begun is finished, or taken back where finishing it takes
    waiting.
    """
    for plan in world.store.plans(state="applying"):
        if gently.is_gentle(world, plan):
            _end_at_once(world, plan, dead)
    finish(world)


def _end_at_once(world: World, plan: Plan, dead: str) -> None:
    """No site is brought back to the dead node, and nothing that goes wrong here keeps that one in
    DNS.
    """
    world.say(
        f"Plan {plan.id} was on its way, and would have to wait; taking it back first."
    )
    try:
        _take_back(
            world, plan, besides=_began_at(plan, addresses_of(world.nodes, dead))
        )
    except OnTheWay as error:
        world.say(
            f"That failed ({error.answer}); what DNS says now is the placement in force."
        )
        _abandon(world, plan)


def _began_at(plan: Plan, addresses: Collection[str]) -> set[str]:
    """The names that had one of these addresses before."""
    befores = (
        change.before
        for made in plan.zone_plans
        for change in made.changes
        if change.before
    )
    return {
        before.name
        for before in befores
        if not set(addresses).isdisjoint(before.values)
    }


def _finish(world: World, plan: Plan, enters: Callable[[str], None]) -> None:
    try:
        _finish_or_abandon(world, plan, enters)
    except Unreachable as error:
        raise OnTheWay(
            error.asked,
            error.answer,
            kept=f"some of plan {plan.id}, which an earlier run began, may be in DNS",
            advice=f"{error.advice}; then `flex apply --resume` finishes it",
        ) from error


def _finish_or_abandon(world: World, plan: Plan, enters: Callable[[str], None]) -> None:
    """A name server that is away comes back; what it refuses today it refuses tomorrow, and every
    night after.
    """
    try:
        if plan.taking_back:
            _take_back(world, plan)
        else:
            _refuse_late(world, plan)
            carry_out(world, plan, enters)
    except (Unreachable, OnTheWay):
        raise
    except Unwell as error:
        world.say(f"It was not finished ({error.answer}) and is taken back.")
    except (DnsError, PartlyApplied) as error:
        _end_unfinished(world, plan, error)


def _refuse_late(world: World, plan: Plan) -> None:
    """What an earlier run sent, or is about to send if it only slept, is not made any more."""
    # A server that refuses this refuses what is on its way there, too; shadow mode never writes.
    if world.settings.cluster.mode != "shadow":
        with suppress(Refused):
            world.target.refuse_late(
                *(one.zone for one in plan.zone_plans if one.changes)
            )


def _end_unfinished(world: World, plan: Plan, error: DnsError | PartlyApplied) -> None:
    """No site stays in between: on old and new nodes, or with the TTL of what moves."""
    if _is_on_its_way(world, plan):
        world.say(f"It cannot be finished ({error.answer}) and is taken back.")
        _take_back(world, plan)
        return
    world.say(
        f"It cannot be finished ({error.answer}); what DNS says now is the placement in force."
    )
    _abandon(world, plan)


def _is_on_its_way(world: World, plan: Plan) -> bool:
    ttl = plan.moving_ttl
    if ttl is None:
        return False
    return any(
        zone_changes.on_its_way(
            one, world.target.read(one.zone, zone_changes.touched(one)), ttl
        )
        for one in plan.zone_plans
    )


def give_up(world: World) -> tuple[str, ...]:
    """The plans that were half applied and are not any more: what DNS says is the placement in
    force.
    """
    begun = world.store.plans(state="applying")
    for plan in begun:
        _abandon(world, plan)
    return tuple(plan.id for plan in begun)


def take_back(world: World) -> tuple[str, ...]:
    """Undo what is half applied, under prerequisites: what others wrote meanwhile stays. Zone by
    zone, and said so.
    """
    begun = world.store.plans(state="applying")
    for plan in begun:
        if world.settings.cluster.mode == "shadow":
            raise _in_shadow(plan)
        _take_back(world, plan)
    if begun:
        _steer(world)
    return tuple(plan.id for plan in begun)


def _take_back(world: World, plan: Plan, *, besides: Collection[str] = ()) -> None:
    """Whoever comes after a run that was killed in here goes on taking it back, but for what is not
    to be.

    With names `besides`, what DNS says is the placement in force.
    """
    world.store.update(replace(plan, state="applying", taking_back=not besides))
    target = world.target
    try:
        target.refuse_late(*(one.zone for one in plan.zone_plans if one.changes))
        undone = [
            _undoing(world, _without(one, besides), plan.moving_ttl or 0)
            for one in plan.zone_plans
        ]
        target.apply(*undone, journal=leases.Unwritten(world))
    except (DnsError, PartlyApplied) as error:
        raise OnTheWay(
            error.asked,
            f"it could not be taken back: {error.answer}",
            kept=f"some of plan {plan.id} may be in DNS",
            advice=f"{error.advice.partition('; then `flex apply')[0]}; then `flex "
            "apply --undo` takes it back",
        ) from error
    if besides:
        _abandon(world, plan)
        return
    message = "taken back: DNS says what it said before, but for what others wrote"
    world.store.update(
        replace(plan, state="failed", message=message, taking_back=False)
    )
    world.store.new_journal(plan.id)


def _without(made: ZonePlan, names: Collection[str]) -> ZonePlan:
    return replace(
        made,
        changes=tuple(
            one for one in made.changes if site_name(made.zone, one.name) not in names
        ),
    )


def _undoing(world: World, made: ZonePlan, ttl: int) -> ZonePlan:
    state = world.target.read(made.zone, names := zone_changes.touched(made))
    back = zone_changes.undoing(made, state, ttl)
    put_back = {site_name(made.zone, change.name) for change in back.changes}
    others = sorted(set(names) - put_back - _as_before(made, state))
    named = ", ".join(name.rstrip(".") for name in others[:NAMED])
    left = f"; of others by now, and left alone: {named}" if others else ""
    world.say(
        f"{made.zone} {words.count(len(back.changes), 'record set')} put back{left}."
    )
    return back


def _as_before(made: ZonePlan, state: ZoneState) -> set[str]:
    """The names that the plan never changed, or only marked."""
    have, changes = (
        by_name(state.records),
        [one for one in made.changes if one.type in zone_changes.ADDRESSES],
    )
    before = [
        (one, one.before and (one.before.ttl, one.before.values)) for one in changes
    ]
    only_marked = set(zone_changes.touched(made)) - {one.name for one in changes}
    return only_marked | {
        one.name for one, said in before if have.get((one.name, one.type)) == said
    }


def _abandon(world: World, plan: Plan) -> None:
    _refuse_late(world, plan)
    planning.abandon(
        replace(plan, taking_back=False),
        world.store.placement_of(plan.id),
        nodes=world.nodes,
        zones=world.settings.dns.every_zone,
        target=world.target,
        store=world.store,
    )
    world.store.new_journal(plan.id)
    _steer(world)


def apply(
    world: World,
    plan_id: str,
    *,
    force: Sequence[str] = (),
    checksum: str = "",
    enters: Callable[[str], None] = planning.unheard,
) -> Plan:
    """Carry out a plan as it was approved, or finish it where a killed run began it. Raises Held
    when a rule forbids it and was not forced by name, or when another plan is half applied.
    """
    if plan_id in {begun.id for begun in world.store.plans(state="applying")}:
        return _gone_on(world, plan_id, force, checksum, enters)
    refuse_half_applied(world, f"applying {plan_id}")
    plan = refuse_forbidden(world, plan_id, force=force, checksum=checksum)
    if gently.warms_first(world, plan):
        enters("warm")
        world.say(f"Warming up: {warming.ahead(world, plan)}.")
        # That took a while, and people may have thought again.
        plan = refuse_forbidden(world, plan_id, force=force, checksum=checksum)
    return carry_out(world, plan, enters)


def _gone_on(
    world: World,
    plan_id: str,
    force: Collection[str],
    checksum: str,
    enters: Callable[[str], None],
) -> Plan:
    plan = world.store.plan(plan_id)
    approving.refuse_other(plan.id, plan.digest, checksum, "finishing")
    if world.settings.cluster.mode == "shadow":
        raise _in_shadow(plan)
    if broken := [stop for stop in freezing.of_now(world) if stop.rule not in force]:
        raise freezing.kind_of(broken)(
            f"finishing {plan_id}",
            "; ".join(map(str, broken)),
            kept="it stays half applied",
            advice=f"to finish it all the same: flex apply {plan_id} "
            + " ".join(f"--force {stop.rule}" for stop in broken),
            stops=broken,
        )
    finish(world, enters)
    return world.store.plan(plan_id)


def accept(
    world: World, plan_id: str, *, force: Sequence[str] = (), checksum: str = ""
) -> Plan:
    """Put a plan in force that somebody put into DNS by other means. Nothing is sent; every name
    server is asked.
    """
    refuse_half_applied(world, f"applying {plan_id}")
    plan = refuse_forbidden(world, plan_id, force=force, checksum=checksum)
    return planning.accept(
        plan,
        world.store.placement_of(plan.id),
        nodes=world.nodes,
        ttl=world.settings.dns.ttl,
        target=world.target,
        store=world.store,
        now=world.clock(),
        owner=world.settings.owner,
    )


def refuse_forbidden(
    world: World, plan_id: str, *, force: Collection[str] = (), checksum: str = ""
) -> Plan:
    """The plan, where nothing forbids to carry it out now. Raises Held, naming the rule; BadInput
    for no such rule.
    """
    stopping.refuse_strange(force, f"applying {plan_id}")
    if world.settings.cluster.mode == "shadow":
        plan = world.store.plan(plan_id)
        raise _in_shadow(plan)
    plan = approving.waiting(world, plan_id, "applying", checksum=checksum)
    if lacking := approving.lacks(world, plan):
        raise _held_error(
            plan,
            lacking,
            f"`flex approve {plan.id}`, by somebody else",
            approving.needs_another(plan),
        )
    refuse_stopped(world, plan, force)
    return plan


def stops(world: World, plan: Plan) -> tuple[Stop, ...]:
    """The rules that a plan may not be applied by now, unless somebody goes over them by name."""
    return (
        *freezing.of_now(world),
        *outdated.stops(world, plan),
        *(
            Stop(
                breach.rule,
                f"{breach.limit:g}",
                f"{breach.actual:g}",
                "it is over a limit",
                zone_changes.past(plan),
            )
            for breach in plan.breaches
        ),
    )


def in_the_way(world: World, plan: Plan) -> tuple[Stop, ...]:
    """What a plan that waits would be refused for now. Of an outdated one only that: nobody can go
    over it.
    """
    if plan.state not in pending.WAITING:
        return ()
    return tuple(outdated.overtaken(plan, world.store.in_force())) or stops(world, plan)


def refuse_stopped(world: World, plan: Plan, force: Collection[str] = ()) -> None:
    """Raises Frozen or Held, with the rules that were not forced."""
    every = stops(world, plan)
    broken = [stop for stop in every if stop.rule not in force]
    if not broken:
        approving.refuse_forced_alone(world, plan, [stop.rule for stop in every])
        return
    forced = " ".join(f"--force {stop.rule}" for stop in broken)
    raise freezing.kind_of(broken)(
        f"applying {plan.id}",
        "; ".join(str(stop) for stop in broken),
        kept="nothing was changed",
        advice=f"to apply it all the same: flex apply {plan.id} {forced}",
        stops=broken,
    )


def carry_out(
    world: World, plan: Plan, enters: Callable[[str], None] = planning.unheard
) -> Plan:
    """Raises Unwell where a node that sites move to is not well: then all of the plan is taken
    back.

    Requests are routed by the plan before DNS has it. What a dead node served waits for nothing:
    DNS goes first.
    """
    steers_first = plan.quality.solver != failover.SOLVER
    if steers_first:
        _steer(world, plan.id)
    try:
        done = _carried_out(world, plan, enters)
    except FlexError:
        _steer(world)
        raise
    if not steers_first:
        _steer(world)
    return done


def _steer(world: World, coming: str = "") -> None:
    """What does it takes a while to load, and most clusters have no need of it."""
    if world.settings.routing.delivers:
        delivering.steer(world.settings, world.store, world.say, coming)


def _carried_out(world: World, plan: Plan, enters: Callable[[str], None]) -> Plan:
    plan = gently.begin(world, plan)
    try:
        return planning.carry_out(
            plan,
            world.store.placement_of(plan.id),
            nodes=world.nodes,
            ttl=world.settings.dns.ttl,
            target=gently.target(world, plan),
            store=world.store,
            now=world.clock(),
            patience=world.settings.dns.settle.total_seconds(),
            enters=enters,
        )
    except Unwell as error:
        raise _taken_back(world, plan, error) from error


def _taken_back(world: World, plan: Plan, error: Unwell) -> Unwell:
    try:
        _take_back(world, plan)
    except OnTheWay as trouble:
        raise OnTheWay(
            error.asked,
            f"{error.answer}; and {trouble.answer}",
            kept=trouble.kept,
            advice=trouble.advice,
        ) from trouble
    kept = "what was begun was taken back: DNS says what it said before, but for what others wrote"
    return Unwell(error.asked, error.answer, kept=kept, advice=error.advice)


def _in_shadow(plan: Plan) -> Held:
    advice = "set cluster.mode to review or auto"
    said = "the mode is shadow, which never writes to DNS"
    return _held_error(
        plan,
        said,
        advice,
        Stop("cluster.mode", "shadow", "a change in DNS", said, advice),
    )


def _held_error(plan: Plan, answer: str, advice: str, stop: Stop) -> Held:
    return Held(
        f"applying {plan.id}",
        answer,
        kept="nothing was changed",
        advice=advice,
        stops=[stop],
    )

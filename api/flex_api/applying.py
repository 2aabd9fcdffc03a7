"""The half of a night that changes DNS: carry out a plan, finish or give up one that was begun, check what is in force.

Who calls this holds the lease (leases.py). What must hold before a plan is carried out is asked here, once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from flex import cycle as cycles
from flex import plan as plans
from flex.domain import Breach, Cycle, Plan, Verdict
from flex.errors import DnsError, Held, NoData, PartlyApplied, Unreachable
from flex.records import ZoneState, by_name
from flex_api import words
from flex_api.wiring import World

# How many names a sentence lists.
NAMED = 10


def finish(world: World) -> None:
    """Apply to its end what a killed run began; give it up where somebody changed the records meanwhile."""
    for cycle in world.store.cycles():
        if cycle.state != "applying":
            continue
        if world.settings.cluster.mode == "shadow":
            world.say(f"Plan {cycle.id} is half applied, and shadow mode never writes: nothing of it was finished.")
            continue
        world.say(f"Plan {cycle.id} was being applied; finishing it first.")
        _finish(world, cycle)


def _finish(world: World, cycle: Cycle) -> None:
    try:
        _finish_or_abandon(world, cycle)
    except Unreachable as error:
        raise PartlyApplied(
            error.asked,
            error.answer,
            kept=f"some of plan {cycle.id}, which an earlier run began, may be in DNS",
            advice=f"{error.advice}; then `flex apply --resume` finishes it",
        ) from error


def _finish_or_abandon(world: World, cycle: Cycle) -> None:
    """A name server that is away comes back; what it refuses today it refuses tomorrow, and every night after."""
    try:
        carry_out(world, cycle)
    except Unreachable:
        raise
    except (DnsError, PartlyApplied) as error:
        world.say(f"It cannot be finished ({error.answer}); what DNS says now is the placement in force.")
        _abandon(world, cycle)


def give_up(world: World) -> tuple[str, ...]:
    """The plans that were half applied and are not any more: what DNS says is the placement in force."""
    begun = [cycle for cycle in world.store.cycles() if cycle.state == "applying"]
    for cycle in begun:
        _abandon(world, cycle)
    return tuple(cycle.id for cycle in begun)


def take_back(world: World) -> tuple[str, ...]:
    """Undo what is half applied, under prerequisites: what others wrote meanwhile stays. Zone by zone, and said so."""
    begun = [cycle for cycle in world.store.cycles() if cycle.state == "applying"]
    for cycle in begun:
        if world.settings.cluster.mode == "shadow":
            raise _held(cycle, "the mode is shadow, which never writes to DNS", "set cluster.mode to review or auto")
        world.target.apply(*(_undoing(world, one) for one in cycle.plans))
        message = "taken back: DNS says what it said before, but for what others wrote"
        world.store.update(replace(cycle, state="failed", message=message))
        world.store.new_journal(cycle.id)
    return tuple(cycle.id for cycle in begun)


def _undoing(world: World, made: Plan) -> Plan:
    names = sorted({change.name for change in made.changes if change.type in plans.ADDRESSES})
    state = world.target.read(made.zone, names)
    back = plans.undoing(made, state)
    others = sorted(set(names) - {change.name for change in back.changes} - _as_before(made, state))
    left = f"; of others by now, and left alone: {', '.join(others[:NAMED])}" if others else ""
    world.say(f"{made.zone} {words.count(len(back.changes), 'record set')} put back{left}.")
    return back


def _as_before(made: Plan, state: ZoneState) -> set[str]:
    """The names that the plan never changed."""
    have = by_name(state.records)
    before = [(one, one.before and (one.before.ttl, one.before.values)) for one in made.changes]
    return {one.name for one, said in before if have.get((one.name, one.type)) == said}


def _abandon(world: World, cycle: Cycle) -> None:
    cycles.abandon(
        cycle,
        world.store.placement_of(cycle.id),
        nodes=world.nodes,
        zones=world.settings.dns.every_zone,
        target=world.target,
        store=world.store,
    )
    world.store.new_journal(cycle.id)


def apply(world: World, cycle_id: str, *, force: Sequence[str] = (), checksum: str = "") -> Cycle:
    """Carry out a plan as it was approved. Raises Held when a rule forbids it and was not forced by name."""
    cycle = world.store.cycle(cycle_id)
    if world.settings.cluster.mode == "shadow":
        raise _held(cycle, "the mode is shadow, which never writes to DNS", "set cluster.mode to review or auto")
    if cycle.state in ("applied", "discarded"):
        raise _held(cycle, f"it is {cycle.state} already", "make a new one with `flex plan`")
    if checksum and not cycle.digest.startswith(checksum):
        raise _held(
            cycle, f"its checksum is {cycle.digest[:12]}, not {checksum}", "review it again with `flex plan show`"
        )
    if world.clock() - cycle.created > world.settings.safety.plan_expiry:
        raise _held(cycle, f"it was made {words.ago(cycle.created, world.clock())}", "make a new one with `flex plan`")
    if broken := [breach for breach in cycle.breaches if breach.rule not in force]:
        raise _over_limits(cycle, broken)
    return carry_out(world, cycle)


def verify(world: World) -> tuple[str, tuple[Verdict, ...]]:
    """The partition in force, and what each name server says of it."""
    base, placement = world.store.placement()
    if not base:
        raise NoData(
            "verifying the partition in force",
            "no plan was applied yet",
            kept="nothing was changed",
            advice="`flex plan`, then `flex apply`",
        )
    cycle = world.store.cycle(base)
    verdicts = cycles.check(cycle, placement, world.nodes, world.settings.dns.ttl, world.target)
    if not any(verdict.checked or verdict.error for verdict in verdicts):
        raise NoData(
            f"verifying the partition of {base}",
            "no record set of it is ours, so nothing was checked",
            kept="nothing was changed",
            advice=f"check dns.zones and dns.owner; `flex plan show {base}` names what is not ours",
        )
    return base, verdicts


def carry_out(world: World, cycle: Cycle) -> Cycle:
    return cycles.carry_out(
        cycle,
        world.store.placement_of(cycle.id),
        nodes=world.nodes,
        ttl=world.settings.dns.ttl,
        target=world.target,
        store=world.store,
        now=world.clock(),
        patience=world.settings.dns.settle.total_seconds(),
    )


def _held(cycle: Cycle, answer: str, advice: str) -> Held:
    return Held(f"applying {cycle.id}", answer, kept="nothing was changed", advice=advice)


def _over_limits(cycle: Cycle, broken: Sequence[Breach]) -> Held:
    forced = " ".join(f"--force {breach.rule}" for breach in broken)
    return _held(
        cycle, "; ".join(str(breach) for breach in broken), f"to apply it all the same: flex apply {cycle.id} {forced}"
    )

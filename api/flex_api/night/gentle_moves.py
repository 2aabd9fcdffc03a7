"""Whether the moves of a plan give a site its new node before they take the old one.

Takes a world whose lease is held, and a plan. Returns how the plan begins, and a publisher for
`carry_out`. What is done before each wave of sites stands in warm_and_check_before_wave.py.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from flex.model.plan import Plan
from flex.placing import failover
from flex.ports import Publisher
from flex_api.night import freeze_and_change_windows, warm_and_check_before_wave
from flex_api.night.interruptible_wait import giving_way, pause
from flex_api.wiring import World
from flex_dns.make_before_break import GentlePublisher, Hooks


def begin(world: World, plan: Plan) -> Plan:
    """The plan as it begins by the settings. One that was begun goes on as it began, whatever they
    say by now.
    """
    if plan.state == "applying":
        return plan
    dns = world.settings.dns
    is_gentle = dns.make_before_break and plan.quality.solver != failover.SOLVER
    return replace(plan, moving_ttl=dns.moving_ttl if is_gentle else None)


def is_gentle(world: World, plan: Plan) -> bool:
    return begin(world, plan).moving_ttl is not None


def warms_first(world: World, plan: Plan) -> bool:
    """Whether nodes are warmed up for the whole plan before it begins, and not wave by wave."""
    return bool(world.settings.warming.bytes) and not is_gentle(world, plan)


def publisher(world: World, plan: Plan) -> Publisher:
    """A dead node's sites lose it at once; all other moves may make before they break."""
    ttl = begin(world, plan).moving_ttl
    if ttl is None:
        return world.publisher
    dns = world.settings.dns
    forced = (
        {stop.rule for stop in freeze_and_change_windows.of_now(world)}
        if plan.state != "applying"
        else set[str]()
    )
    hooks = Hooks(
        begins=partial(warm_and_check_before_wave.tell_of_waits, world),
        ahead=partial(warm_and_check_before_wave.prepare_wave, world, forced),
        well=partial(warm_and_check_before_wave.refuse_unwell, world),
        idle=partial(giving_way, world),
    )
    return GentlePublisher(
        world.publisher,
        partial(pause, world),
        dns.settle.total_seconds(),
        ttl,
        dns.waves,
        hooks,
    )

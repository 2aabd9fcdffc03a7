"""The moves of a night that give a site its new node before they take the old one: who is asked and
told while the plan is under way.

Takes a world whose lease is held. Returns a publisher for `carry_out`. New nodes are warmed up
before each wave of sites. Before each step, nodes that got sites are probed as the health watch
does it.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from functools import partial

from flex import health
from flex.errors import Unwell
from flex.health import Pulse
from flex.model.nodes import Node
from flex.model.plan import Plan
from flex.placing import failover
from flex.ports import Publisher
from flex_api.in_words import amounts
from flex_api.night import freezing, probing, warm_command, warming
from flex_api.night.interruptible_wait import giving_way, pause
from flex_api.wiring import World
from flex_dns.make_before_break import Coming, GentlePublisher, Hooks


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
        {stop.rule for stop in freezing.of_now(world)}
        if plan.state != "applying"
        else set[str]()
    )
    hooks = Hooks(
        begins=partial(_tell, world),
        ahead=partial(_ahead, world, forced),
        well=partial(_refuse_unwell, world),
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


def _tell(world: World, seconds: float, waves: int) -> None:
    span = amounts.span(timedelta(seconds=seconds))
    world.say(
        f"Resolvers are waited for {span} in all, in {amounts.count(waves, 'wave')}."
    )


def _ahead(
    world: World, forced: Collection[str], coming: Coming, wave: int, waves: int
) -> None:
    _refuse_stopped(world, forced)
    if waves > 1:
        world.say(f"Wave {wave} of {waves}: {amounts.count(len(coming), 'name')}.")
    if not (world.settings.warming.bytes or world.settings.dns.warm_command):
        return
    of_node = {
        node: names for node in world.nodes if (names := _coming_to(node, coming))
    }
    with giving_way(world):
        if world.settings.warming.bytes:
            by_name = {node.name: names for node, names in of_node.items()}
            world.say(f"Warming up: {warming.warm_up_nodes(world, by_name)}.")
        if world.settings.dns.warm_command:
            warm_command.run(world, of_node)


def _refuse_stopped(world: World, forced: Collection[str]) -> None:
    """Raises Frozen or Held where changes were frozen, or a window closed, since the plan began."""
    broken = [stop for stop in freezing.of_now(world) if stop.rule not in forced]
    if not broken:
        return
    raise freezing.kind_of(broken)(
        "moving sites wave by wave",
        "; ".join(map(str, broken)),
        kept="waves that were begun are done, the others wait",
        advice="when that is over `flex apply --resume` goes on; `--undo` takes all of it back",
        stops=broken,
    )


def _coming_to(node: Node, coming: Coming) -> list[str]:
    """The host names that get an address of the node, as sites are called."""
    return sorted(
        name.rstrip(".")
        for name, new in coming.items()
        if not new.isdisjoint(node.addresses)
    )


def _refuse_unwell(world: World, addresses: Collection[str]) -> None:
    """Raises Unwell where a node with one of these addresses is dead by the terms of the health
    watch.
    """
    watch = world.settings.watch
    asked = [
        node
        for node in world.nodes
        if watch.probes and not set(node.addresses).isdisjoint(addresses)
    ]
    pulses: Mapping[str, Pulse] = {}
    with giving_way(world):
        for turn in range(watch.fails if asked else 0):
            time.sleep(watch.interval.total_seconds() if turn else 0.0)
            said = probing.answers(asked, watch.probes, watch.timeout.total_seconds())
            pulses = health.felt(pulses, said, watch.terms())
            if not any(pulse.against or pulse.is_sick for pulse in pulses.values()):
                return
    if sick := [node for node in asked if pulses[node.name].is_sick]:
        raise _unwell(sick)


def _unwell(sick: Sequence[Node]) -> Unwell:
    names = ", ".join(node.name for node in sick)
    return Unwell(
        "moving sites wave by wave",
        f"{names} {'do' if len(sick) > 1 else 'does'} not answer the probes of [watch]",
        kept="of what moves nothing more was changed",
        advice=f"see what is wrong with {names}; then make a new plan with `flex plan`",
    )

"""Whether the moves of a plan give a site its new node before they take the old one.

Takes a world whose lease is held, and a plan. Returns how the plan begins, and a publisher for
`carry_out`. What is done before each wave of sites stands in before_waves.py.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from flex.model.plan import Plan
from flex.partition import new_nodes
from flex.placing import failover
from flex.ports import Publisher
from flex.zones import records_of_partition
from flex_api.night import before_waves, freezes
from flex_api.night.interruptible_wait import giving_way, pause
from flex_api.night.lead_doors_by_plan import DoorsOfNodes
from flex_api.wiring import World
from flex_dns.make_before_break import Coming, GentlePublisher, Hooks, coming_by_name


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


def publisher(world: World, plan: Plan, doors: DoorsOfNodes | None = None) -> Publisher:
    """A dead node's sites lose it at once; all other moves may make before they break. Doors lead
    to a site's new node when its wave begins, once that is warmed up and before DNS names it.
    """
    ttl = begin(world, plan).moving_ttl
    if ttl is None:
        return world.publisher
    dns = world.settings.dns
    forced = (
        {stop.rule for stop in freezes.current_stops(world)}
        if plan.state != "applying"
        else set[str]()
    )

    beside = _coming_without_dns(world, plan) if doors else {}

    def ahead(coming: Coming, wave: int, waves: int) -> None:
        if doors:
            # Doors lead to the others already, by what a killed run did.
            waiting = {records_of_partition.name_of(site) for site in doors.waiting(plan)}
            led = beside.keys() - waiting
            coming = {name: new for name, new in coming.items() if name not in led}
        if not coming:
            return
        before_waves.prepare_wave(world, forced, coming, wave, waves)
        if doors:
            doors.lead_sites(plan, {name.rstrip(".") for name in coming})

    hooks = Hooks(
        begins=partial(before_waves.tell_of_waits, world),
        ahead=ahead,
        well=partial(before_waves.refuse_unwell, world),
        idle=partial(giving_way, world),
    )
    return GentlePublisher(
        world.publisher,
        partial(pause, world),
        dns.settle.total_seconds(),
        ttl,
        dns.waves,
        hooks,
        beside,
    )


def _coming_without_dns(world: World, plan: Plan) -> dict[str, set[str]]:
    """The names that doors alone lead to new nodes, with the addresses of these. They move in
    waves like those that DNS follows.
    """
    _, in_force = world.store.placement()
    coming = world.store.placement_of(plan.id)
    in_dns = coming_by_name(plan.zone_plans)
    addresses = {node.name: node.addresses for node in world.nodes}
    return {
        name: {address for node in nodes for address in addresses.get(node, ())}
        for site, nodes in new_nodes(in_force, coming).items()
        if (name := records_of_partition.name_of(site)) not in in_dns
    }

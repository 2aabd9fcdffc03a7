"""What is done before each wave of sites that moves: people are told, new nodes are warmed up, and
nodes that got sites are probed as the health watch does it.

Takes a world whose lease is held, and the names that a wave brings. Returns nothing, and raises an
error that stops the waves to come. Does not change DNS. Does not know what the warm command of the
settings asks of a node, or how fast.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

from flex import health
from flex.errors import Unwell, held_or_frozen
from flex.health import Pulse
from flex.model.nodes import Node
from flex_api.in_words import amounts
from flex_api.night import freezes, probing, run_command, warm_nodes
from flex_api.night.interruptible_wait import giving_way
from flex_api.wiring import World
from flex_dns.make_before_break import Coming

# Nodes that the warm command is run for at a time.
SIDE_BY_SIDE = 8


def tell_of_waits(world: World, seconds: float, waves: int) -> None:
    span = amounts.span(timedelta(seconds=seconds))
    world.say(f"Resolvers are waited for {span} in all, in {amounts.count(waves, 'wave')}.")


def prepare_wave(
    world: World, forced: Collection[str], coming: Coming, wave: int, waves: int
) -> None:
    _refuse_stopped(world, forced)
    if waves > 1:
        world.say(f"Wave {wave} of {waves}: {amounts.count(len(coming), 'name')}.")
    if not (world.settings.warming.bytes or world.settings.dns.warm_command):
        return
    of_node = {node: names for node in world.nodes if (names := _coming_to(node, coming))}
    with giving_way(world):
        if world.settings.warming.bytes:
            by_name = {node.name: names for node, names in of_node.items()}
            world.say(f"Warming up: {warm_nodes.warm_up_nodes(world, by_name)}.")
        if world.settings.dns.warm_command:
            run_warm_commands(world, of_node)


def _refuse_stopped(world: World, forced: Collection[str]) -> None:
    """Raises Frozen or Held where changes were frozen, or a window closed, since the plan began."""
    broken = [stop for stop in freezes.current_stops(world) if stop.rule not in forced]
    if not broken:
        return
    raise held_or_frozen(broken)(
        "moving sites wave by wave",
        "; ".join(map(str, broken)),
        kept="waves that were begun are done, the others wait",
        advice="when that is over `flex apply --resume` goes on; `--undo` takes all of it back",
        stops=broken,
    )


def _coming_to(node: Node, coming: Coming) -> list[str]:
    """The host names that get an address of the node, as sites are called."""
    return sorted(
        name.rstrip(".") for name, new in coming.items() if not new.isdisjoint(node.addresses)
    )


def run_warm_commands(world: World, of_node: Mapping[Node, Sequence[str]]) -> None:
    """Raises Unwell where a command fails and `dns.warm_or_stop` is set."""
    with (
        TemporaryDirectory(prefix="flex-warm-") as folder,
        ThreadPoolExecutor(SIDE_BY_SIDE) as threads,
    ):
        wanted = [
            _warm_command(world, node, sites, Path(folder)) for node, sites in of_node.items()
        ]
        failed = [
            error
            for error in threads.map(lambda command: _warm_trouble(world, command), wanted)
            if error
        ]
    for error in failed:
        world.say(f"Warming up failed: {error}")
    if failed and world.settings.dns.warm_or_stop:
        raise Unwell(
            "warming up the new nodes of sites that move",
            failed[0],
            kept="of what moves nothing more was changed",
            advice="fix what it says, or set dns.warm_or_stop to false; then make a "
            "new plan with `flex plan`",
        )


def _warm_command(world: World, node: Node, sites: Sequence[str], folder: Path) -> list[str]:
    listed = folder / node.name
    listed.write_text("".join(f"{site}\n" for site in sites), encoding="ascii")
    marks = {"{node}": node.name, "{address}": node.addresses[0], "{sites}": str(listed)}
    return run_command.fill(world.settings.dns.warm_command, marks)


def _warm_trouble(world: World, command: Sequence[str]) -> str:
    """What went wrong; empty when it ended well."""
    trouble = run_command.trouble(command, world.settings.dns.warm_time.total_seconds())
    return f"{command[0]}: {trouble}" if trouble else ""


def refuse_unwell(world: World, addresses: Collection[str]) -> None:
    """Raises Unwell where a node with one of these addresses is dead by the terms of the health
    watch.
    """
    watch = world.settings.watch
    nodes = [
        node
        for node in world.nodes
        if watch.probes and not set(node.addresses).isdisjoint(addresses)
    ]
    pulses: Mapping[str, Pulse] = {}
    with giving_way(world):
        for turn in range(watch.fails if nodes else 0):
            time.sleep(watch.interval.total_seconds() if turn else 0.0)
            replies = probing.answers(nodes, watch.probes, watch.timeout.total_seconds())
            pulses = health.pulses_after_probes(pulses, replies, watch.terms())
            if not any(pulse.against or pulse.is_sick for pulse in pulses.values()):
                return
    if sick := [node for node in nodes if pulses[node.name].is_sick]:
        raise _unwell(sick)


def _unwell(sick: Sequence[Node]) -> Unwell:
    names = ", ".join(node.name for node in sick)
    return Unwell(
        "moving sites wave by wave",
        f"{names} {'do' if len(sick) > 1 else 'does'} not answer the probes of [watch]",
        kept="of what moves nothing more was changed",
        advice=f"see what is wrong with {names}; then make a new plan with `flex plan`",
    )

"""Runs the command of the settings that warms up nodes, once for each node that a wave brings sites
to.

Takes the sites by node. Reports failures, or ends the plan where the settings say so. Does not know
what the command asks of the node, or how fast.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory

from flex.errors import Unwell
from flex.model.nodes import Node
from flex_api.night import run_commands_of_settings
from flex_api.wiring import World

# Nodes that are warmed up at a time.
SIDE_BY_SIDE = 8


def run(world: World, of_node: Mapping[Node, Sequence[str]]) -> None:
    """Raises Unwell where a command fails and `dns.warm_or_stop` is set."""
    with (
        TemporaryDirectory(prefix="flex-warm-") as folder,
        ThreadPoolExecutor(SIDE_BY_SIDE) as threads,
    ):
        wanted = [_command(world, node, sites, Path(folder)) for node, sites in of_node.items()]
        failed = [error for error in threads.map(lambda one: _ran(world, one), wanted) if error]
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


def _command(world: World, node: Node, sites: Sequence[str], folder: Path) -> list[str]:
    listed = folder / node.name
    listed.write_text("".join(f"{site}\n" for site in sites), encoding="ascii")
    marks = {"{node}": node.name, "{address}": node.addresses[0], "{sites}": str(listed)}
    return run_commands_of_settings.fill(world.settings.dns.warm_command, marks)


def _ran(world: World, command: Sequence[str]) -> str:
    """What went wrong; empty when it ended well."""
    said = run_commands_of_settings.trouble(command, world.settings.dns.warm_time.total_seconds())
    return f"{command[0]}: {said}" if said else ""

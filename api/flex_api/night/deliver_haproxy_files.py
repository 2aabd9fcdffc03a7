"""Writes the HAProxy files of each node into its folder, and has the command of the settings carry
them to it.

Takes the settings and the store. Returns the result for each node. A node that cannot get its new
files keeps the old ones, and the others get theirs. Does not tell HAProxy to read the files: that
command does.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from flex.errors import BadSetting, FlexError, NotWritten
from flex.routing import install_files
from flex.routing.haproxy_program import HaproxyProgram, program
from flex.routing.refuse_older_maps import refuse_older
from flex.store import Store
from flex_api.night import haproxy_pools_and_files, plan_to_route_by, run_command
from flex_api.night.prometheus_metrics import Labels, Series
from flex_api.settings.file import Settings
from flex_api.wiring import nodes, refuse_lost

# Carrying some files to one node takes seconds.
_PATIENCE = 120.0
# Nodes whose files are carried at a time.
_SIDE_BY_SIDE = 16

Make = Callable[[str], dict[str, str]]


@dataclass(frozen=True, slots=True)
class Delivered:
    node: str
    folder: str
    changed: bool
    error: str = ""


def checker() -> HaproxyProgram | None:
    """None where the configuration is for another machine, and this one has no HAProxy."""
    try:
        return program()
    except BadSetting:
        return None


def deliver(settings: Settings, store: Store, coming: str = "") -> tuple[Delivered, ...]:
    """Every node's files in its folder of `routing.deliver`, and the command run for each that
    changed.

    Raises LostLease where the step that asks holds the lease no more: another run decides on
    routing by now.
    """
    refuse_lost(store)
    haproxy_program = checker()
    make = haproxy_pools_and_files.maker(
        settings, store, lambda _: plan_to_route_by.plans_at_present(settings, store, coming)
    )

    def deliver_one(node: str) -> Delivered:
        return _deliver(settings, node, make, haproxy_program)

    with ThreadPoolExecutor(_SIDE_BY_SIDE) as side_by_side:
        return tuple(
            side_by_side.map(deliver_one, haproxy_pools_and_files.addresses(nodes(settings, store)))
        )


def _deliver(
    settings: Settings, node: str, make: Make, haproxy_program: HaproxyProgram | None
) -> Delivered:
    folder, command = folder_of(settings, node), settings.routing.deliver_command
    try:
        changed = install_files.put(make(node), folder, haproxy_program, owing=bool(command))
        if changed and command:
            before = install_files.contents(folder)
            _carry(_command(settings, node, folder))
            install_files.note_delivery(folder, before)
    except FlexError as error:
        return Delivered(node, str(folder), False, f"{error.asked}: {error.answer}")
    return Delivered(node, str(folder), changed)


def make_again(settings: Settings, store: Store) -> tuple[Delivered, ...]:
    """Every node's files made anew, and put into its folder where they differ. Nothing is decided
    and nothing is carried: files are those that a node gets which asks for them itself, and
    `undelivered_nodes` names the nodes that they are to be carried to.

    No file takes the place of a newer one, as others may deliver beside this.
    """
    haproxy_program = checker()
    make = haproxy_pools_and_files.maker(
        settings, store, lambda last: plan_to_route_by.following(settings, store, last)
    )

    def put(node: str) -> Delivered:
        folder = folder_of(settings, node)
        owing = bool(settings.routing.deliver_command)
        try:
            changed = install_files.put(
                make(node), folder, haproxy_program, owing=owing, guard=refuse_older
            )
        except FlexError as error:
            return Delivered(node, str(folder), False, f"{error.asked}: {error.answer}")
        return Delivered(node, str(folder), changed)

    with ThreadPoolExecutor(_SIDE_BY_SIDE) as side_by_side:
        return tuple(
            side_by_side.map(put, haproxy_pools_and_files.addresses(nodes(settings, store)))
        )


def undelivered_nodes(settings: Settings, store: Store) -> list[str]:
    """The nodes whose files lie ready in their folder and have not reached them."""
    if not settings.routing.deliver_command:
        return []
    every = haproxy_pools_and_files.addresses(nodes(settings, store))
    return [node for node in every if install_files.is_owed(folder_of(settings, node))]


def owed_since(settings: Settings, store: Store) -> dict[str, datetime]:
    """The nodes that the newest files have not reached, with when these were ready."""
    if not settings.routing.deliver_command:
        return {}
    every = haproxy_pools_and_files.addresses(nodes(settings, store))
    since = {node: install_files.owed_since(folder_of(settings, node)) for node in every}
    return {node: moment for node, moment in since.items() if moment}


def series(settings: Settings, store: Store) -> list[Series]:
    """For Prometheus."""
    values: list[tuple[Labels, float]] = [
        ({"node": node}, since.timestamp()) for node, since in owed_since(settings, store).items()
    ]
    about = "When files for a node's HAProxy were ready that have not reached it."
    return [Series("flex_route_owed_since_timestamp_seconds", "gauge", about, values)]


def carried_again(settings: Settings, which: Sequence[str]) -> tuple[Delivered, ...]:
    """What lies ready for these nodes, as it is: nothing is made anew."""

    def carry(node: str) -> Delivered:
        folder = folder_of(settings, node)
        try:
            before = install_files.contents(folder)
            _carry(_command(settings, node, folder))
            install_files.note_delivery(folder, before)
        except FlexError as error:
            return Delivered(node, str(folder), False, f"{error.asked}: {error.answer}")
        return Delivered(node, str(folder), True)

    with ThreadPoolExecutor(_SIDE_BY_SIDE) as side_by_side:
        return tuple(side_by_side.map(carry, which))


def _command(settings: Settings, node: str, folder: Path) -> Sequence[str]:
    return run_command.fill(
        settings.routing.deliver_command, {"{node}": node, "{directory}": str(folder)}
    )


def folder_of(settings: Settings, node: str) -> Path:
    return Path(settings.routing.deliver.replace("{node}", node))


def _carry(command: Sequence[str]) -> None:
    """Raises NotWritten when it does not end well."""
    if trouble := run_command.trouble(command, _PATIENCE):
        raise NotWritten(
            f"running {' '.join(command)[:200]}",
            trouble,
            kept="the node has the configuration before",
            advice="fix what it says, then `flex route deliver`",
        )

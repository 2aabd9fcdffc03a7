"""The verbs for nodes: what they carry, and what people order for them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Annotated

import typer
from pydantic import ValidationError

from flex.errors import BadInput
from flex.loop import verify
from flex.model.nodes import Node
from flex.model.operator_orders import NodeOrder, OrderState
from flex.model.plan import Plan
from flex_api.cli.common import (
    Context,
    DryRun,
    NodeName,
    Reason,
    author,
    context,
    moment,
    now,
    split_names,
)
from flex_api.cli.open_installation import open_world
from flex_api.known import present
from flex_api.night import failover, nodes
from flex_api.night.leases import lease
from flex_api.schemas.night import NodesOutput
from flex_api.told import preview_text, text, words
from flex_api.wiring import World

Addresses = Annotated[
    str, typer.Option(help="what DNS says for a site on it: 192.0.2.15,2001:db8::15")
]
Ram = Annotated[str, typer.Option(help="page cache to count on, such as '12 GiB'")]
Capacity = Annotated[
    float | None, typer.Option(help="service rate beside the other nodes")
]

# What follows from a change, and the node as it would be.
Noted = tuple[list[str], Node]

nodes_app = typer.Typer(
    help="List nodes; add, drain and remove them.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


def add_to(app: typer.Typer) -> None:
    app.add_typer(nodes_app, name="nodes")


@nodes_app.command("list")
def nodes_list(ctx: typer.Context) -> None:
    """Every node, its state and its load under the partition in force."""
    found = context(ctx)
    with open_world(found) as here:
        output = _nodes(here)
    found.show(output, lambda console: text.nodes(console, output))


@nodes_app.command("add")
def nodes_add(
    ctx: typer.Context,
    node: NodeName,
    addresses: Addresses,
    ram: Ram,
    capacity: Capacity = None,
    reason: Reason = "",
    dry_run: DryRun = False,
) -> None:
    """Add a node that takes sites from the next plan on. Its logs need an [[ingest.source]]."""
    wanted = check(node, addresses, ram, 1.0 if capacity is None else capacity)
    _send_order(
        ctx,
        lambda here: (nodes.add(here, wanted, dry_run=dry_run), wanted),
        reason,
        dry_run,
    )


@nodes_app.command("set")
def nodes_set(
    ctx: typer.Context,
    node: NodeName,
    addresses: Addresses = "",
    ram: Ram = "",
    capacity: Capacity = None,
    reason: Reason = "",
    dry_run: DryRun = False,
) -> None:
    """Change a node's memory, capacity or addresses from the next plan on, whatever the settings
    say.
    """

    def change(here: World) -> Noted:
        old = nodes.find(here, node)
        given = addresses or ",".join(old.addresses)
        wanted = check(
            node, given, ram or old.ram, old.capacity if capacity is None else capacity
        )
        return nodes.put(here, wanted, dry_run=dry_run), replace(
            wanted, state=old.state
        )

    if not (addresses or ram or capacity is not None):
        raise BadInput(
            f"changing the node {node!r}",
            "nothing to change was given",
            kept="nothing was changed",
            advice="give --addresses, --ram or --capacity",
        )
    _send_order(ctx, change, reason, dry_run)


@nodes_app.command("drain")
def nodes_drain(
    ctx: typer.Context,
    node: NodeName,
    deadline: Annotated[
        str,
        typer.Option(
            metavar="TIME",
            help="empty by this time, even if that takes more moves in one night",
        ),
    ] = "",
    reason: Reason = "",
    dry_run: DryRun = False,
) -> None:
    """Move all sites off a node with the next plans. It serves until then; wishes for it are
    suspended.
    """
    _send_order(
        ctx,
        lambda here: _order(here, node, "draining", reason, deadline, dry_run),
        reason,
        dry_run,
        turns=True,
    )


@nodes_app.command("undrain")
def nodes_undrain(
    ctx: typer.Context, node: NodeName, reason: Reason = "", dry_run: DryRun = False
) -> None:
    """Give a node sites again, from the next plan on."""
    _send_order(
        ctx,
        lambda here: _order(here, node, "active", reason, "", dry_run),
        reason,
        dry_run,
        turns=True,
    )


@nodes_app.command("up")
def nodes_up(
    ctx: typer.Context, node: NodeName, reason: Reason = "", dry_run: DryRun = False
) -> None:
    """Give a node that was down sites again, from the next plan on."""
    _send_order(
        ctx,
        lambda here: _order(here, node, "active", reason, "", dry_run),
        reason,
        dry_run,
        turns=True,
    )


@nodes_app.command("remove")
def nodes_remove(
    ctx: typer.Context, node: NodeName, reason: Reason = "", dry_run: DryRun = False
) -> None:
    """Remove a node that has no sites any more."""

    def remove(here: World) -> Noted:
        old = nodes.find(here, node)
        notes = nodes.remove(
            here, _order_given(here, node, "removed", reason, ""), dry_run=dry_run
        )
        return notes, nodes.in_state(old, "removed")

    _send_order(ctx, remove, reason, dry_run)


@nodes_app.command("down")
def nodes_down(
    ctx: typer.Context, node: NodeName, reason: Reason = "", dry_run: DryRun = False
) -> None:
    """Take a dead node out of DNS now. Replicated sites lose its addresses, then the others get a
    new node.

    A run that waits gives way. Exits 33 where names that are not FLEX's to change still lead to the
    node.
    """
    found = context(ctx)
    if dry_run:
        _try_down(found, node)
        return
    with (
        open_world(found, reason=reason) as here,
        lease(here, f"node {node} down {reason}".strip(), breaks_in=True) as held,
    ):
        nodes.refuse_last(here, nodes.find(here, node).name)
        notes = nodes.stopped_by(here, node, "down")
        taken = failover.take_down_as(
            held, here, _order_given(here, node, "down", reason, "")
        )
        done = taken.plan
        output = _nodes(here, notes, taken.left, in_force=done)
    found.show(output, lambda console: preview_text.nodes(console, output))
    if done:
        # What it changed in DNS, line by line, is not said here, and would take a while of tens of
        # thousands.
        moved = text.moves_text(present.plan_output(replace(done, zone_plans=())))
        found.say(f"Plan {done.id}: {moved}; {_agreement(done)}.")
    if done and done.old_answers_until:
        found.say(text.countdown(done.old_answers_until, now()))
    if taken.left:
        raise typer.Exit(failover.LEFT_CODE)


def _try_down(found: Context, node: str) -> None:
    """No run is recorded: nothing was done, and nobody has to wait for it."""
    with open_world(found) as here:
        dead = nodes.find(here, node)
        nodes.refuse_last(here, dead.name)
        output = _try(
            here, _nodes(here, nodes.stopped_by(here, node, "down")), dead, fails=True
        )
    found.show(output, lambda console: preview_text.nodes(console, output))


def _send_order(
    ctx: typer.Context,
    change: Callable[[World], Noted],
    reason: str,
    dry_run: bool,
    *,
    turns: bool = False,
) -> None:
    """A dry run says what the next plan would do with the node as it would be; otherwise, where it
    `turns` sites to the node or away from it, how many go with the next plan.
    """
    found = context(ctx)
    with open_world(found, reason=reason) as here:
        was = {node.name: node.state for node in here.nodes}
        notes, changed = change(here)
        if turns and not dry_run and was[changed.name] != changed.state:
            notes = [*notes, *next_plan_lines(here, changed.name)]
        output = _nodes(here, notes)
        if dry_run:
            output = _try(here, output, changed)
    found.show(output, lambda console: preview_text.nodes(console, output))


def next_plan_lines(here: World, node: str) -> list[str]:
    """It takes a while to load what makes plans."""
    from flex_api.wishes import tonight

    return tonight.sentences(here, node)


def _try(
    here: World, output: NodesOutput, changed: Node, *, fails: bool = False
) -> NodesOutput:
    """With what the next plan would do. It takes a while to load what makes plans, and a dead node
    does not wait.
    """
    from flex_api.wishes import previewing

    look = previewing.of_failure if fails else previewing.of_node
    preview, why = previewing.look_if_possible(lambda: look(here, changed))
    return output.model_copy(
        update={"preview": preview, "notes": [*output.notes, *why]}
    )


def _order(
    here: World, node: str, state: OrderState, reason: str, deadline: str, dry_run: bool
) -> Noted:
    changed = nodes.in_state(nodes.find(here, node), state)
    return nodes.order(
        here, _order_given(here, node, state, reason, deadline), dry_run=dry_run
    ), changed


def _order_given(
    here: World, node: str, state: OrderState, reason: str, deadline: str
) -> NodeOrder:
    return NodeOrder(
        node,
        state,
        here.time_of_day(),
        moment("--deadline", deadline),
        reason,
        author(),
    )


def _nodes(
    here: World,
    notes: Sequence[str] = (),
    left: Mapping[str, str] | None = None,
    in_force: Plan | None = None,
) -> NodesOutput:
    """The plan `in_force` is read where nobody has it: one of many sites takes its time."""
    base, placement = here.store.placement()
    plan = in_force or (here.store.plan(base) if base else None)
    return present.nodes_output(
        here.nodes,
        placement,
        plan,
        notes,
        here.store.node_orders(),
        here.settings.nodes(),
        left,
        here.store.attempts(),
    )


def _agreement(plan: Plan) -> str:
    servers = verify.servers(plan.verdicts).agreeing
    return (
        f"{words.count(servers, 'name server')} {'agrees' if servers == 1 else 'agree'}"
    )


def check(name: str, addresses: str, ram: int | str, capacity: float) -> Node:
    """As it was written on the command line. Raises BadInput."""
    try:
        return nodes.check_node(name, split_names(addresses), ram, capacity)
    except ValidationError as error:
        first = error.errors()[0]
        raise BadInput(
            f"the node {name!r}",
            f"{first['loc'][0]}: {first['msg'].removeprefix('Value error, ')}",
            kept="nothing was changed",
            advice="such as: --addresses 192.0.2.15,2001:db8::15 --ram '12 GiB' --capacity 1.5",
        ) from error

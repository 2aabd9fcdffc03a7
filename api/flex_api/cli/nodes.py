"""The verbs for nodes: what they carry, and what people order for them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from flex.errors import BadInput
from flex_api.cli import local_or_server
from flex_api.cli.common import Context, DryRun, NodeName, Reason, context, moment
from flex_api.cli.node_options import Addresses, Capacity, NodeSaid, Ram
from flex_api.in_words import dry_run_text

if TYPE_CHECKING:
    from flex_api.schemas.nodes_and_jobs import NodesOutput

nodes_app = typer.Typer(
    help="List nodes; add, drain and remove them.", no_args_is_help=True, rich_markup_mode=None
)


def add_to(app: typer.Typer) -> None:
    app.add_typer(nodes_app, name="nodes")


def _show(call_context: Context, output: NodesOutput) -> None:
    call_context.show(output, lambda console: dry_run_text.nodes(console, output))


@nodes_app.command("list")
def nodes_list(ctx: typer.Context) -> None:
    """Every node, its state and its load under the partition in force."""
    call_context = context(ctx)
    _show(call_context, local_or_server.nodes(call_context).every())


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
    call_context = context(ctx)
    by = local_or_server.nodes(call_context)
    _show(call_context, by.add(node, NodeSaid(addresses, ram, capacity), reason, dry_run=dry_run))


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
    if not (addresses or ram or capacity is not None):
        raise BadInput(
            f"changing the node {node!r}",
            "nothing to change was given",
            advice="give --addresses, --ram or --capacity",
        )
    call_context = context(ctx)
    by = local_or_server.nodes(call_context)
    _show(
        call_context, by.change(node, NodeSaid(addresses, ram, capacity), reason, dry_run=dry_run)
    )


@nodes_app.command("drain")
def nodes_drain(
    ctx: typer.Context,
    node: NodeName,
    deadline: Annotated[
        str,
        typer.Option(
            metavar="TIME", help="empty by this time, even if that takes more moves in one night"
        ),
    ] = "",
    reason: Reason = "",
    dry_run: DryRun = False,
) -> None:
    """Move all sites off a node with the next plans. It serves until then; wishes for it are
    suspended.
    """
    call_context = context(ctx)
    until = moment("--deadline", deadline)
    _show(
        call_context,
        local_or_server.nodes(call_context).drain(node, until, reason, dry_run=dry_run),
    )


@nodes_app.command("undrain")
def nodes_undrain(
    ctx: typer.Context, node: NodeName, reason: Reason = "", dry_run: DryRun = False
) -> None:
    """Give a node sites again, from the next plan on."""
    call_context = context(ctx)
    _show(call_context, local_or_server.nodes(call_context).undrain(node, reason, dry_run=dry_run))


@nodes_app.command("up")
def nodes_up(
    ctx: typer.Context, node: NodeName, reason: Reason = "", dry_run: DryRun = False
) -> None:
    """Give a node that was down sites again, from the next plan on."""
    call_context = context(ctx)
    _show(call_context, local_or_server.nodes(call_context).take_up(node, reason, dry_run=dry_run))


@nodes_app.command("remove")
def nodes_remove(
    ctx: typer.Context, node: NodeName, reason: Reason = "", dry_run: DryRun = False
) -> None:
    """Remove a node that has no sites any more."""
    call_context = context(ctx)
    _show(call_context, local_or_server.nodes(call_context).remove(node, reason, dry_run=dry_run))


@nodes_app.command("down")
def nodes_down(
    ctx: typer.Context,
    node: NodeName,
    without_content: Annotated[
        bool,
        typer.Option(
            "--without-content",
            help="sites whose content is on this node alone go to other nodes, too: what it has "
            "is given up, or somebody brought it there",
        ),
    ] = False,
    reason: Reason = "",
    dry_run: DryRun = False,
) -> None:
    """Take a dead node out of DNS now. Replicated sites lose its addresses, then the others get a
    new node.

    A site whose content is on the dead node alone stays there, and nobody answers for it until the
    node is back (move.failover). A run that waits gives way. Exits 33 where sites stay, or where
    names that are not FLEX's to change still lead to the node. With --server it shows the plan that
    was made of it.
    """
    call_context = context(ctx)
    by = local_or_server.nodes(call_context)
    if dry_run:
        _show(call_context, by.try_take_down(node, without_content=without_content))
    else:
        by.take_down(node, reason, without_content=without_content)

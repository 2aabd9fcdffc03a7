"""The verbs of sites on their way: one is moved by hand, how each move went, and that a site may
move again.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, get_args

import typer

from flex.errors import Unwell
from flex.model.site_moves import State
from flex_api.cli import local_or_server
from flex_api.cli.common import DryRun, Reason, SiteName, context
from flex_api.cli.local_only import AsOf
from flex_api.cli.night_verbs import show
from flex_api.in_words import site_moves_text

if TYPE_CHECKING:
    from rich.console import Console

moves_app = typer.Typer(
    help="List the commands that were run for sites that moved. It also says what stopped others.",
    rich_markup_mode=None,
)

Newest = Annotated[int, typer.Option(min=1, max=10_000, help="how many moves, the newest first")]
# Those of the core, and all of them in which something is still to be done.
MoveState = StrEnum(  # type: ignore[misc]  # mypy wants to read the members
    "MoveState", {state: state for state in ("open", *get_args(State))}
)
OneSite = Annotated[str, typer.Option("--site", help="only moves of this site")]


def add_to(app: typer.Typer) -> None:
    app.command()(move)
    app.command()(ready)
    app.add_typer(moves_app, name="moves", invoke_without_command=True)


def move(
    ctx: typer.Context,
    site: SiteName,
    to: Annotated[
        str,
        typer.Option(metavar="NODE[,NODE]", help="all nodes that it is to be on after the move"),
    ],
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="make and show the plan, apply nothing")
    ] = False,
    force: Annotated[
        list[str] | None,
        typer.Option(
            metavar="RULE", help="apply the plan although this rule forbids it; may be repeated"
        ),
    ] = None,
    as_of: AsOf = None,
    reason: Reason = "",
) -> None:
    """Move one site now. This makes an ordinary plan with one move, and applies it under the same
    rules as any other.

    The plan says how balanced the nodes are after it, and for how long the site stays there. `flex
    rollback` takes it back.
    """
    call_context = context(ctx)
    nodes = tuple(dict.fromkeys(to.replace(",", " ").split()))
    plan_output = local_or_server.plans(call_context, as_of).move_site(
        site, nodes, force or (), reason, dry_run=dry_run
    )
    if plan_output:
        show(call_context, plan_output, diff=dry_run)


def ready(
    ctx: typer.Context,
    sites: Annotated[list[str], typer.Argument(metavar="SITE...", help="the names of sites")],
    to: Annotated[
        str,
        typer.Option(
            metavar="NODE[,NODE]",
            help="ask these nodes; every active one that does not serve the site when left out",
        ),
    ] = "",
) -> None:
    """Ask nodes whether they are ready for sites. A plan asks so before it moves them. Nothing is
    moved.

    Exits 22 where a node is not ready.
    """
    call_context = context(ctx)
    nodes = tuple(dict.fromkeys(to.replace(",", " ").split()))
    output = local_or_server.site_moves(call_context).ready(sites, nodes)
    call_context.show(output, lambda console: site_moves_text.ready(console, output))
    if not all(row.ready for row in output.items):
        raise typer.Exit(Unwell.exit_code)


@moves_app.callback()
def moves(
    ctx: typer.Context,
    site: OneSite = "",
    plan: Annotated[str, typer.Option(help="only moves of the plan with this id")] = "",
    node: Annotated[str, typer.Option(help="only moves from or to this node")] = "",
    state: Annotated[
        MoveState | None, typer.Option(help="only moves in this state; open: all that are not over")
    ] = None,
    limit: Newest = 50,
) -> None:
    """Every move with its stages, the newest first."""
    if ctx.invoked_subcommand:
        return
    call_context = context(ctx)
    output = local_or_server.site_moves(call_context).moves(
        limit, site=site, plan=plan, node=node, state=state.value if state else ""
    )
    call_context.show(output, lambda console: site_moves_text.moves(console, output))


@moves_app.command("again")
def again(
    ctx: typer.Context,
    site: Annotated[str, typer.Argument(metavar="SITE", help="a site that rests")],
    reason: Reason = "",
    dry_run: DryRun = False,
) -> None:
    """Let a site move again whose last move failed, before its rest is over."""
    call_context = context(ctx)
    output = local_or_server.site_moves(call_context).again(site, reason, dry_run=dry_run)

    def show(console: Console) -> None:
        would = "would be free" if dry_run else "is free"
        console.print(f"{output.sites[0]} {would} to move with the next plan.")

    call_context.show(output, show)

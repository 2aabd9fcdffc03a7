"""The verbs of sites on their way: how each move went, and that a site may move again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from flex_api.cli import local_or_server
from flex_api.cli.common import DryRun, Reason, context
from flex_api.in_words import site_moves_text

if TYPE_CHECKING:
    from rich.console import Console

moves_app = typer.Typer(
    help="Show what was brought to new nodes for sites that moved, and what stopped others.",
    rich_markup_mode=None,
)

Newest = Annotated[
    int, typer.Option(min=1, max=10_000, help="how many moves, the newest first")
]
OneSite = Annotated[str, typer.Option("--site", help="only moves of this site")]


def add_to(app: typer.Typer) -> None:
    app.add_typer(moves_app, name="moves", invoke_without_command=True)


@moves_app.callback()
def moves(ctx: typer.Context, site: OneSite = "", limit: Newest = 50) -> None:
    """Every move with its stages, the newest first."""
    if ctx.invoked_subcommand:
        return
    found = context(ctx)
    output = local_or_server.site_moves(found).moves(site, limit)
    found.show(output, lambda console: site_moves_text.moves(console, output))


@moves_app.command("again")
def again(
    ctx: typer.Context,
    site: Annotated[str, typer.Argument(metavar="SITE", help="a site that rests")],
    reason: Reason = "",
    dry_run: DryRun = False,
) -> None:
    """Let a site move again whose last move failed, before its rest is over."""
    found = context(ctx)
    output = local_or_server.site_moves(found).again(site, reason, dry_run=dry_run)

    def show(console: Console) -> None:
        would = "would be free" if dry_run else "is free"
        console.print(f"{output.sites[0]} {would} to move with the next plan.")

    found.show(output, show)

"""The verbs `flex dns`: which controller may change our zones, and how a controller takes over from
another one.
"""

from __future__ import annotations

from typing import Annotated

import typer

from flex_api.cli import local_or_server
from flex_api.cli.common import Reason, context
from flex_api.in_words import results_in_terminal

dns_app = typer.Typer(
    help="Show and change which controller writes the zones.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


def add_to(app: typer.Typer) -> None:
    app.add_typer(dns_app, name="dns")


@dns_app.command("holders")
def dns_holders(ctx: typer.Context) -> None:
    """Which controller holds each zone. Nothing is changed."""
    call_context = context(ctx)
    output = local_or_server.zones(call_context).holders()
    call_context.show(output, lambda console: results_in_terminal.holders(console, output))


@dns_app.command("takeover")
def dns_takeover(
    ctx: typer.Context,
    was: Annotated[
        str, typer.Option("--from", metavar="CONTROLLER", help="as `flex dns holders` shows it")
    ],
    reason: Reason = "",
) -> None:
    """Make the zones of another controller ours: one that is gone for good, or that this one is a
    move of. With --server, they become the server's.

    One that still runs is locked out by this, wherever it is.
    """
    call_context = context(ctx)
    output = local_or_server.zones(call_context).take_over(was, reason)
    call_context.show(output, lambda console: results_in_terminal.holders(console, output))

"""The verbs `flex dns`: which controller may change our zones, and how a controller takes over from
another one.
"""

from __future__ import annotations

from typing import Annotated

import typer

from flex_api.cli.common import Reason, context
from flex_api.cli.on_this_machine_only import all_only_here
from flex_api.cli.open_installation import open_world
from flex_api.in_words import results_in_terminal
from flex_api.night import who_holds_zones
from flex_api.night.leases import lease
from flex_api.night.who_holds_zones import Hold
from flex_api.schemas.nodes_holders_jobs_freezes import HoldersOutput, HoldRow

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
    found = context(ctx)
    with open_world(found) as here:
        output = _output(who_holds_zones.holds(here))
    found.show(output, lambda console: results_in_terminal.holders(console, output))


@dns_app.command("takeover")
def dns_takeover(
    ctx: typer.Context,
    was: Annotated[
        str,
        typer.Option(
            "--from", metavar="CONTROLLER", help="as `flex dns holders` shows it"
        ),
    ],
    reason: Reason = "",
) -> None:
    """Make the zones of another controller ours: one that is gone for good, or that this one is a
    move of.

    One that still runs is locked out by this, wherever it is.
    """
    found = context(ctx)
    with open_world(found) as here, lease(here, f"take over from {was}"):
        output = _output(who_holds_zones.take_over(here, was, reason))
    found.show(output, lambda console: results_in_terminal.holders(console, output))


def _output(holds: list[Hold]) -> HoldersOutput:
    return HoldersOutput(
        items=[
            HoldRow(zone=one.zone, controller=one.by, ours=one.is_ours) for one in holds
        ]
    )


# At the end of the file, where every verb of the group is there.
all_only_here(dns_app, "a controller is put in the place of another on its own machine")

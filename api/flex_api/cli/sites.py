"""The verbs about sites, and what people wish for them."""

from __future__ import annotations

from typing import Annotated

import typer

from flex.model.wish import Pin
from flex_api import which_names_are_sites
from flex_api.cli import local_or_server
from flex_api.cli.common import Campaign, Reason, SiteName, author, context, moment
from flex_api.cli.wish_options import Asked, add_wish_options
from flex_api.in_words import results_in_terminal, tokens_and_audit_text

DryRun = Annotated[
    bool, typer.Option("--dry-run", help="check it, say what the next plan would do")
]
Until = Annotated[
    str, typer.Option(metavar="TIME", help="ends at this time, such as 2026-12-01T06:00Z")
]
Since = Annotated[str, typer.Option(metavar="TIME", help="begins at this time; now when left out")]

sites_app = typer.Typer(
    help="List sites, and say where they may be.", no_args_is_help=True, rich_markup_mode=None
)


def add_to(app: typer.Typer) -> None:
    app.add_typer(sites_app, name="sites")


@sites_app.command("list")
def sites_list(ctx: typer.Context) -> None:
    """Every site, busiest first."""
    call_context = context(ctx)
    output = local_or_server.sites(call_context).every()
    call_context.show(output, lambda console: results_in_terminal.sites(console, output))


@sites_app.command("show")
def sites_show(ctx: typer.Context, site: SiteName) -> None:
    """One site: what it asks of its nodes, where it is, and all of its names."""
    call_context = context(ctx)
    output = local_or_server.sites(call_context).one(which_names_are_sites.site_name(site))
    call_context.show(output, lambda console: results_in_terminal.site(console, output))


@sites_app.command("unknown")
def sites_unknown(
    ctx: typer.Context,
    most: Annotated[int, typer.Option(min=1, max=1000, help="show at most this many names")] = 20,
) -> None:
    """Show what visitors asked of names that are no known sites, since the profiles begin."""
    call_context = context(ctx)
    output = local_or_server.logs(call_context).unknown_names(most)
    call_context.show(output, lambda console: results_in_terminal.unknown_hosts(console, output))


@sites_app.command("pin")
@add_wish_options
def sites_pin(
    ctx: typer.Context,
    site: SiteName,
    asked: Asked,
    since: Since = "",
    until: Until = "",
    campaign: Campaign = "",
    reason: Reason = "",
    dry_run: DryRun = False,
) -> None:
    """Say where a site is to be, where not, on how many nodes and with which others, from the next
    plan on.

    A wish with an end stands on top of the permanent one, which comes back when it is over. A wish
    that cannot be kept beside the others is refused. When nodes leave, wishes give way in this
    order: apart, together, the fewest and the most replicas, not on nodes, on nodes.
    """
    wanted = Pin(
        which_names_are_sites.site_name(site),
        **asked,
        since=moment("--since", since),
        until=moment("--until", until),
        reason=reason,
        author=author(),
        campaign=campaign,
    )
    _pin(ctx, wanted, dry_run=dry_run)


@sites_app.command("unpin")
def sites_unpin(
    ctx: typer.Context,
    site: SiteName,
    campaign: Campaign = "",
    reason: Reason = "",
    dry_run: DryRun = False,
) -> None:
    """Take a wish back."""
    call_context = context(ctx)
    output = local_or_server.sites(call_context).unpin(
        which_names_are_sites.site_name(site), campaign, reason, dry_run=dry_run
    )
    call_context.show(output, lambda console: tokens_and_audit_text.pin(console, output))


@sites_app.command("exclude")
def sites_exclude(
    ctx: typer.Context,
    site: SiteName,
    since: Since = "",
    until: Until = "",
    reason: Reason = "",
    dry_run: DryRun = False,
) -> None:
    """Take a site out of the partition from the next plan on: its records stay as they are, and it
    counts nowhere.

    `flex sites unpin` takes it in again.
    """
    wanted = Pin(
        which_names_are_sites.site_name(site),
        since=moment("--since", since),
        until=moment("--until", until),
        reason=reason,
        author=author(),
        excluded=True,
    )
    _pin(ctx, wanted, dry_run=dry_run)


def _pin(ctx: typer.Context, wanted: Pin, *, dry_run: bool) -> None:
    call_context = context(ctx)
    output = local_or_server.sites(call_context).pin(wanted, dry_run=dry_run)
    call_context.show(output, lambda console: tokens_and_audit_text.pin(console, output))

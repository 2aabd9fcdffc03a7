"""The verbs about sites, and what people wish for them."""

from __future__ import annotations

from typing import Annotated

import typer

from flex.model.period import LAST_DAY, Period
from flex.model.pin import Pin
from flex.wishes.pins import unknown_site
from flex_api import hosted
from flex_api.cli.common import (
    Campaign,
    Context,
    Reason,
    SiteName,
    author,
    context,
    moment,
    split_names,
)
from flex_api.cli.open_installation import open_world
from flex_api.known import present
from flex_api.schemas.sites import values
from flex_api.schemas.verbs import PinOutput, SitesOutput, UnknownName, UnknownOutput
from flex_api.told import desk_text, text
from flex_api.wiring import World
from flex_api.wishes import pinning, previewing
from flex_api.wishes.previewing import NOT_TRIED, Tried
from flex_logs_ingest.counts.unknown_hosts import unknown

DryRun = Annotated[
    bool, typer.Option("--dry-run", help="check it, say what the next plan would do")
]
Until = Annotated[
    str,
    typer.Option(metavar="TIME", help="ends at this time, such as 2026-12-01T06:00Z"),
]
Since = Annotated[
    str, typer.Option(metavar="TIME", help="begins at this time; now when left out")
]

sites_app = typer.Typer(
    help="List sites, and say where they may be.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


def add_to(app: typer.Typer) -> None:
    app.add_typer(sites_app, name="sites")


@sites_app.command("list")
def sites_list(ctx: typer.Context) -> None:
    """Every site, busiest first."""
    found = context(ctx)
    with open_world(found) as here:
        output = _sites(here)
    found.show(output, lambda console: text.sites(console, output))


@sites_app.command("show")
def sites_show(ctx: typer.Context, site: SiteName) -> None:
    """One site: what it asks of its nodes, and where it is."""
    found = context(ctx)
    with open_world(found) as here:
        every = _sites(here)
    rows = [row for row in every.items if row.site == hosted.site_name(site)]
    if not rows:
        raise unknown_site(site, [row.site for row in every.items])
    output = every.model_copy(update={"items": rows})
    found.show(output, lambda console: text.sites(console, output))


@sites_app.command("unknown")
def sites_unknown(
    ctx: typer.Context,
    most: Annotated[
        int, typer.Option(min=1, max=1000, help="show at most this many names")
    ] = 20,
) -> None:
    """Show what visitors asked of names that are no known sites, since the profiles begin."""
    found = context(ctx)
    with open_world(found) as here:
        since = Period.days_before(
            here.clock(), here.settings.profile.window.days
        ).start
        days = (int(since.timestamp()) // 86400, LAST_DAY)
        told = unknown(
            here.settings.ingest.directory, here.store.segments(*days), *days, most
        )
    items = [
        UnknownName(name=name, requests_at_least=requests)
        for name, requests in told.names
    ]
    output = UnknownOutput(
        since=since, requests=told.requests, bytes=told.bytes, items=items
    )
    found.show(output, lambda console: text.unknown(console, output))


def _sites(here: World) -> SitesOutput:
    kept = here.store.profiles()
    _, placement = here.store.placement()
    if kept is None:
        return SitesOutput(period_start=None, period_end=None, items=[])
    period, profiles, _ = kept
    return present.sites_output(
        profiles, placement, here.pins, (period.start, period.end)
    )


@sites_app.command("pin")
def sites_pin(
    ctx: typer.Context,
    site: SiteName,
    nodes: Annotated[str, typer.Option(help="must be on all of these: n1,n2")] = "",
    min_replicas: Annotated[
        int, typer.Option(min=1, help="on at least this many nodes")
    ] = 1,
    max_replicas: Annotated[
        int,
        typer.Option(
            min=0, help="on at most this many nodes; 0 means as many as the load needs"
        ),
    ] = 0,
    not_on: Annotated[str, typer.Option(help="must be on none of these: n1,n2")] = "",
    together: Annotated[
        str, typer.Option(help="on the same nodes as these sites: a.example,b.example")
    ] = "",
    apart: Annotated[
        str,
        typer.Option(help="of this site and these sites, no two share a node"),
    ] = "",
    weight: Annotated[
        float, typer.Option(help="multiply the load of the site by this number")
    ] = 1.0,
    sla: Annotated[
        str,
        typer.Option("--class", help="the class of the site in [solver.classes]"),
    ] = "",
    since: Since = "",
    until: Until = "",
    campaign: Campaign = "",
    reason: Reason = "",
    dry_run: DryRun = False,
) -> None:
    """Say where a site is to be, where not, on how many nodes and with which others, from the next
    plan on.

    A wish with an end stands on top of the permanent one, which comes back when it is over. A wish
    that cannot be kept beside the others is refused. When nodes leave, wishes give way in this order:
    apart, together, at least so many, at most so many, not on nodes, on nodes.
    """
    found = context(ctx)
    pin = Pin(
        hosted.site_name(site),
        split_names(nodes),
        min_replicas,
        moment("--until", until),
        reason,
        author(),
        not_on=split_names(not_on),
        max_replicas=max_replicas,
        together=tuple(map(hosted.site_name, split_names(together))),
        apart=tuple(map(hosted.site_name, split_names(apart))),
        since=moment("--since", since),
        weight=weight,
        sla=sla,
        campaign=campaign,
    )
    with open_world(found, reason=reason) as here:
        pin = pinning.beside(here.store, pin)
        pinning.pin(here, pin, dry_run=dry_run)
        tried = (
            previewing.look_if_possible(lambda: previewing.of_pin(here, pin))
            if dry_run
            else NOT_TRIED
        )
    _show_pin(found, pin, pinned=True, tried=tried, dry_run=dry_run)


@sites_app.command("unpin")
def sites_unpin(
    ctx: typer.Context,
    site: SiteName,
    campaign: Campaign = "",
    reason: Reason = "",
    dry_run: DryRun = False,
) -> None:
    """Take a wish back."""
    found = context(ctx)
    with open_world(found, reason=reason) as here:
        pin = pinning.unpin(here, hosted.site_name(site), campaign, dry_run=dry_run)
        tried = (
            previewing.look_if_possible(lambda: previewing.without_pin(here, pin))
            if dry_run
            else NOT_TRIED
        )
    _show_pin(found, pin, pinned=False, tried=tried, dry_run=dry_run)


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
    found = context(ctx)
    ends = moment("--until", until)
    pin = Pin(
        hosted.site_name(site),
        until=ends,
        reason=reason,
        author=author(),
        since=moment("--since", since),
        excluded=True,
    )
    with open_world(found, reason=reason) as here:
        pin = pinning.beside(here.store, pin)
        pinning.pin(here, pin, dry_run=dry_run)
        tried = (
            previewing.look_if_possible(lambda: previewing.of_pin(here, pin))
            if dry_run
            else NOT_TRIED
        )
    _show_pin(found, pin, pinned=True, tried=tried, dry_run=dry_run)


def _show_pin(
    found: Context, pin: Pin, *, pinned: bool, tried: Tried, dry_run: bool
) -> None:
    output = PinOutput(
        **values(pin),
        pinned=pinned,
        dry_run=dry_run,
        preview=tried[0],
        notes=tried[1],
    )
    found.show(output, lambda console: desk_text.pin(console, output))

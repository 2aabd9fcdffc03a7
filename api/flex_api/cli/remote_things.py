"""The verbs about sites and nodes that a FLEX server does for us."""

from __future__ import annotations

from typing import Annotated

import typer

from flex.errors import Unknown
from flex_api import hosted
from flex_api.cli.common import (
    Campaign,
    DryRun,
    NodeName,
    Reason,
    SiteName,
    moment,
    split_names,
)
from flex_api.cli.nodes import Addresses, Capacity, Ram, check
from flex_api.cli.server_client import (
    Asked,
    asked_of,
    show_nodes,
    show_pin,
    show_result,
)
from flex_api.schemas.rest import DownGiven, DrainGiven, NodeChange, NodeGiven
from flex_api.schemas.sites import PinGiven, PinShown
from flex_api.schemas.verbs import SitesOutput
from flex_api.told import text
from flex_api.wishes.pinning import until_text

sites_app = typer.Typer(
    help="Sites and pins.", no_args_is_help=True, rich_markup_mode=None
)
nodes_app = typer.Typer(help="Nodes.", no_args_is_help=True, rich_markup_mode=None)


@sites_app.command("list")
def sites_list(ctx: typer.Context) -> None:
    """Every site, busiest first."""
    asked = asked_of(ctx)
    output = SitesOutput(
        period_start=None, period_end=None, items=list(asked.client.sites())
    )
    asked.context.show(output, lambda console: text.sites(console, output))


@sites_app.command("show")
def sites_show(ctx: typer.Context, site: SiteName) -> None:
    """One site: what it asks of its nodes, and where it is."""
    asked = asked_of(ctx)
    output = SitesOutput(
        period_start=None, period_end=None, items=[asked.client.site(site)]
    )
    asked.context.show(output, lambda console: text.sites(console, output))


@sites_app.command("pin")
def sites_pin(
    ctx: typer.Context,
    site: SiteName,
    nodes: Annotated[str, typer.Option(help="must be on all of these: n1,n2")] = "",
    min_replicas: Annotated[int, typer.Option(min=1)] = 1,
    max_replicas: Annotated[int, typer.Option(min=0)] = 0,
    not_on: Annotated[str, typer.Option(help="must be on none of these")] = "",
    together: Annotated[
        str, typer.Option(help="on the same nodes as these sites")
    ] = "",
    apart: Annotated[
        str,
        typer.Option(help="of this site and these sites, no two share a node"),
    ] = "",
    weight: Annotated[
        float, typer.Option(help="multiply the load of the site by this number")
    ] = 1.0,
    sla: Annotated[
        str, typer.Option("--class", help="count it as one of this class")
    ] = "",
    since: Annotated[str, typer.Option(metavar="TIME")] = "",
    until: Annotated[str, typer.Option(metavar="TIME")] = "",
    campaign: Campaign = "",
    reason: Reason = "",
    dry_run: DryRun = False,
) -> None:
    """Say where a site is to be, where not, on how many nodes and with which others, from the next
    plan on.
    """
    asked = asked_of(ctx)
    wanted = PinGiven(
        nodes=split_names(nodes),
        not_on=split_names(not_on),
        together=split_names(together),
        apart=split_names(apart),
        min_replicas=min_replicas,
        max_replicas=max_replicas,
        weight=weight,
        sla=sla,
        since=moment("--since", since),
        until=moment("--until", until),
        reason=reason,
    )
    _put(asked, site, wanted, campaign, dry_run)


@sites_app.command("exclude")
def sites_exclude(
    ctx: typer.Context,
    site: SiteName,
    since: Annotated[str, typer.Option(metavar="TIME")] = "",
    until: Annotated[str, typer.Option(metavar="TIME")] = "",
    reason: Reason = "",
    dry_run: DryRun = False,
) -> None:
    """Take a site out of the partition from the next plan on: its records stay as they are, and it
    counts nowhere.
    """
    wanted = PinGiven(
        excluded=True,
        since=moment("--since", since),
        until=moment("--until", until),
        reason=reason,
    )
    _put(asked_of(ctx), site, wanted, "", dry_run)


def _put(
    asked: Asked, site: str, wanted: PinGiven, campaign: str, dry_run: bool
) -> None:
    """As on the server itself: a wish with an end takes no place of one without."""
    standing, tag = _find(asked, site, campaign)
    if standing and wanted.until and not campaign and standing.until is None:
        campaign = until_text(wanted.until)
        _, tag = _find(asked, site, campaign)
    made = asked.client.put_pin(site, wanted, tag, campaign=campaign, dry_run=dry_run)
    show_pin(asked, made, pinned=True, dry_run=dry_run)


def _find(asked: Asked, site: str, campaign: str) -> tuple[PinShown | None, str]:
    try:
        return asked.client.pin(site, campaign)
    except Unknown:
        return None, ""


@sites_app.command("unpin")
def sites_unpin(
    ctx: typer.Context,
    site: SiteName,
    campaign: Campaign = "",
    reason: Reason = "",
    dry_run: DryRun = False,
) -> None:
    """Take a wish back."""
    asked = asked_of(ctx)
    if (
        not campaign
        and len(pins := list(asked.client.pins(site=hosted.site_name(site)))) == 1
    ):
        campaign = pins[0].campaign
    pin, tag = asked.client.pin(site, campaign)
    if dry_run:
        pin = asked.client.try_drop_pin(site, tag, campaign)
    else:
        asked.client.drop_pin(site, tag, reason, campaign)
    show_pin(asked, pin, pinned=False, dry_run=dry_run)


@nodes_app.command("list")
def nodes_list(ctx: typer.Context) -> None:
    """Every node, its state and its load under the partition in force."""
    show_nodes(asked_of(ctx))


@nodes_app.command("drain")
def nodes_drain(
    ctx: typer.Context,
    node: NodeName,
    deadline: Annotated[str, typer.Option(metavar="TIME", help="empty by then")] = "",
    reason: Reason = "",
    dry_run: DryRun = False,
) -> None:
    """Move everything off a node with the next plans; it goes on serving until then."""
    asked = asked_of(ctx)
    given = DrainGiven(deadline=moment("--deadline", deadline), reason=reason)
    show_nodes(
        asked,
        asked.client.drain(node, given, asked.client.node(node)[1], dry_run=dry_run),
    )


@nodes_app.command("undrain")
def nodes_undrain(
    ctx: typer.Context, node: NodeName, reason: Reason = "", dry_run: DryRun = False
) -> None:
    """Give a node sites again, from the next plan on."""
    asked = asked_of(ctx)
    show_nodes(
        asked,
        asked.client.undrain(node, asked.client.node(node)[1], reason, dry_run=dry_run),
    )


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
    """Add a node that takes sites from the next plan on."""
    asked, wanted = (
        asked_of(ctx),
        check(node, addresses, ram, 1.0 if capacity is None else capacity),
    )
    given = NodeGiven(
        node=wanted.name,
        addresses=wanted.addresses,
        ram_bytes=wanted.ram,
        capacity_ratio=wanted.capacity,
        reason=reason,
    )
    show_nodes(asked, asked.client.add_node(given, dry_run=dry_run))


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
    """Change a node's memory, capacity or addresses from the next plan on."""
    asked = asked_of(ctx)
    row, tag = asked.client.node(node)
    wanted = check(
        node,
        addresses or ",".join(row.addresses),
        ram or row.ram_bytes,
        row.capacity_ratio if capacity is None else capacity,
    )
    given = NodeChange(
        addresses=wanted.addresses,
        ram_bytes=wanted.ram,
        capacity_ratio=wanted.capacity,
        reason=reason,
    )
    show_nodes(asked, asked.client.change_node(node, given, tag, dry_run=dry_run))


@nodes_app.command("remove")
def nodes_remove(
    ctx: typer.Context, node: NodeName, reason: Reason = "", dry_run: DryRun = False
) -> None:
    """Remove a node that has no sites any more."""
    asked = asked_of(ctx)
    tag = asked.client.node(node)[1]
    if dry_run:
        show_nodes(asked, asked.client.try_remove_node(node, tag))
        return
    asked.client.remove_node(node, tag, reason)
    show_nodes(asked)


@nodes_app.command("down")
def nodes_down(
    ctx: typer.Context, node: NodeName, reason: Reason = "", dry_run: DryRun = False
) -> None:
    """Take a dead node out of DNS now."""
    asked = asked_of(ctx)
    if dry_run:
        show_nodes(asked, asked.client.try_take_down(node))
        return
    show_result(asked, asked.client.take_down(node, DownGiven(reason=reason)))


@nodes_app.command("up")
def nodes_up(
    ctx: typer.Context, node: NodeName, reason: Reason = "", dry_run: DryRun = False
) -> None:
    """Give a node that was down sites again, from the next plan on."""
    asked = asked_of(ctx)
    show_nodes(
        asked,
        asked.client.take_up(node, asked.client.node(node)[1], reason, dry_run=dry_run),
    )

"""The verbs about plans that a FLEX server does for us: made, looked at, decided on, applied; and
what-if.
"""

from __future__ import annotations

from typing import Annotated

import typer

from flex_api.cli.common import (
    PlanId,
    Reason,
    SiteName,
    TakeBack,
    given_as,
    split_names,
)
from flex_api.cli.orders import Agreed, Checksum
from flex_api.cli.server_client import Asked, asked_of, show_plan, show_result
from flex_api.cli.what_if_verbs import (
    Frontier,
    Growth,
    MaxMoves,
    More,
    Other,
    Ram,
    Times,
    Tolerance,
    Without,
    show_diff,
    show_frontier,
    show_what_if,
    times_of,
)
from flex_api.cli.why import show
from flex_api.night import approving
from flex_api.schemas.rest import (
    ApplyGiven,
    ApprovalGiven,
    PlanGiven,
    RollbackGiven,
    Supposed,
)
from flex_api.schemas.verbs import PlanOutput, PlansOutput
from flex_api.told import text

plan_app = typer.Typer(help="Make a plan and show it.", rich_markup_mode=None)


def add_to(app: typer.Typer) -> None:
    for verb in (approve, reject, apply, rollback, whatif, explain):
        app.command()(verb)
    app.add_typer(plan_app, name="plan", invoke_without_command=True)


@plan_app.callback()
def plan(ctx: typer.Context, take_back: TakeBack = None, reason: Reason = "") -> None:
    """Make a plan from the logs that the server read, and show it. DNS is read, never written."""
    if not ctx.invoked_subcommand:
        asked = asked_of(ctx)
        show_result(
            asked,
            asked.client.make_plan(
                PlanGiven(take_back=tuple(take_back or ()), reason=reason)
            ),
        )


@plan_app.command("list")
def plan_list(
    ctx: typer.Context, limit: Annotated[int, typer.Option(min=1, max=1000)] = 20
) -> None:
    """The latest plans, newest first."""
    asked = asked_of(ctx)
    output = PlansOutput(
        items=[row for row, _ in zip(asked.client.plans(), range(limit), strict=False)]
    )
    asked.context.show(output, lambda console: text.plans(console, output))


@plan_app.command("show")
def plan_show(ctx: typer.Context, plan_id: PlanId) -> None:
    """Show one plan with its changes in DNS."""
    asked = asked_of(ctx)
    show_plan(asked, asked.client.plan(plan_id)[0], diff=True)


@plan_app.command("discard")
def plan_discard(ctx: typer.Context, plan_id: PlanId, reason: Reason = "") -> None:
    """Put a plan aside. It cannot be applied any more."""
    asked = asked_of(ctx)
    found, tag = asked.client.plan(plan_id)
    asked.client.discard(found.id, tag, reason)
    show_plan(asked, asked.client.plan(found.id)[0])


def approve(
    ctx: typer.Context,
    plan_id: PlanId,
    checksum: Checksum = "",
    force: Agreed = None,
    reason: Reason = "",
) -> None:
    """Say yes to a plan as it is."""
    _decide(
        ctx,
        plan_id,
        checksum,
        ApprovalGiven(decision="approve", force=tuple(force or ()), reason=reason),
    )


def reject(
    ctx: typer.Context, plan_id: PlanId, checksum: Checksum = "", reason: Reason = ""
) -> None:
    """Say no to a plan. It cannot be applied any more."""
    _decide(ctx, plan_id, checksum, ApprovalGiven(decision="reject", reason=reason))


def _decide(
    ctx: typer.Context, plan_id: str, checksum: str, given: ApprovalGiven
) -> None:
    asked = asked_of(ctx)
    found = _looked_at(asked, plan_id, checksum)
    show_plan(asked, asked.client.decide(found.id, found.digest, given))


def _looked_at(asked: Asked, plan_id: str, checksum: str) -> PlanOutput:
    """Raises Held where it is another plan than that whose checksum somebody wrote down."""
    found, _ = asked.client.plan(plan_id)
    approving.refuse_other(found.id, found.digest, checksum, "deciding on")
    return found


def apply(
    ctx: typer.Context,
    plan_id: PlanId,
    checksum: Checksum = "",
    force: Annotated[
        list[str] | None, typer.Option(metavar="RULE", help="go over this limit")
    ] = None,
    reason: Reason = "",
) -> None:
    """Send a plan to the name server and check the answers. It is applied as it was shown, or
    refused.
    """
    asked = asked_of(ctx)
    found = _looked_at(asked, plan_id, checksum)
    given = ApplyGiven(force=tuple(force or ()), reason=reason)
    show_result(asked, asked.client.apply(found.id, found.digest, given))


def rollback(
    ctx: typer.Context,
    to: Annotated[
        str,
        typer.Option(
            metavar="PLAN",
            help="go back to the partition of this plan; the one before when left out",
        ),
    ] = "",
    reason: Reason = "",
) -> None:
    """Make a plan back to an earlier partition, to be applied like any other."""
    asked = asked_of(ctx)
    show_result(asked, asked.client.rollback(RollbackGiven(to=to, reason=reason)))


def whatif(
    ctx: typer.Context,
    more: More = 0,
    without: Without = "",
    ram: Ram = 1.0,
    growth: Growth = 0.0,
    times: Times = None,
    tolerance: Tolerance = None,
    max_moves: MaxMoves = None,
    frontier: Frontier = False,
) -> None:
    """Show what FLEX would do with other nodes, memory or visitors. It stores nothing and asks no
    name server.
    """
    asked = asked_of(ctx)
    given = given_as(
        Supposed,
        more_nodes=more,
        without_nodes=split_names(without),
        ram_factor=ram,
        growth_ratio=growth,
        site_factors=times_of(times or ()),
        tolerance_ratio=tolerance,
        max_moves=max_moves,
        frontier=frontier,
    )
    output = asked.client.what_if(given)
    asked.context.show(output, lambda console: show_what_if(console, output))


@plan_app.command("frontier")
def plan_frontier(ctx: typer.Context) -> None:
    """What more moves would buy: the least imbalance for each number of them."""
    asked = asked_of(ctx)
    output = asked.client.frontier()
    asked.context.show(output, lambda console: show_frontier(console, output))


@plan_app.command("diff")
def plan_diff(
    ctx: typer.Context,
    one: PlanId,
    other: Other = "current",
) -> None:
    """What differs between the partitions of two plans, site by site."""
    asked = asked_of(ctx)
    output = asked.client.difference(one, other)
    asked.context.show(output, lambda console: show_diff(console, output))


def explain(ctx: typer.Context, site: SiteName) -> None:
    """Explain why a site moves or stays, and where else it could be."""
    asked = asked_of(ctx)
    output = asked.client.explanation(site)
    asked.context.show(output, lambda console: show(console, output))

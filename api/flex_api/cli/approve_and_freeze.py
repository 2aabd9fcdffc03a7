"""The verbs with which a person orders or forbids: freeze, thaw, approve, reject."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from flex_api.cli import local_or_server
from flex_api.cli.common import Context, DryRun, PlanId, Reason, context, moment
from flex_api.cli.local_only import AsOf
from flex_api.cli.night_verbs import show
from flex_api.in_words import amounts

if TYPE_CHECKING:
    from flex_api.schemas.nodes_and_jobs import FreezeOutput

Checksum = Annotated[str, typer.Option(help="refuse unless the plan's digest begins so")]
Agreed = Annotated[
    list[str] | None,
    typer.Option(
        "--force", metavar="RULE", help="a rule that it may go over, under safety.four_eyes"
    ),
]


def add_to(app: typer.Typer) -> None:
    for verb in (approve, reject, freeze, thaw):
        app.command()(verb)


def approve(
    ctx: typer.Context,
    plan_id: PlanId,
    checksum: Checksum = "",
    force: Agreed = None,
    reason: Reason = "",
    as_of: AsOf = None,
) -> None:
    """Approve a plan. DNS is not changed: `flex apply` does that. The plan is refused when another
    partition came into force after it was made.
    """
    call_context = context(ctx)
    by = local_or_server.plans(call_context, as_of)
    show(call_context, by.approve(plan_id, checksum, force or (), reason))


def reject(
    ctx: typer.Context,
    plan_id: PlanId,
    checksum: Checksum = "",
    reason: Reason = "",
    as_of: AsOf = None,
) -> None:
    """Reject a plan. It cannot be applied any more."""
    call_context = context(ctx)
    show(call_context, local_or_server.plans(call_context, as_of).reject(plan_id, checksum, reason))


def freeze(
    ctx: typer.Context,
    until: Annotated[
        str,
        typer.Option(
            metavar="TIME", help="ends at this time; when left out it lasts until `flex thaw`"
        ),
    ] = "",
    reason: Reason = "",
    dry_run: DryRun = False,
) -> None:
    """Stop all changes in DNS. Each night still reads logs and makes a plan; nothing is applied."""
    call_context = context(ctx)
    ends = moment("--until", until)
    _show(
        call_context, local_or_server.freezing(call_context).freeze(ends, reason, dry_run=dry_run)
    )


def thaw(ctx: typer.Context, reason: Reason = "", dry_run: DryRun = False) -> None:
    """End a freeze."""
    call_context = context(ctx)
    _show(call_context, local_or_server.freezing(call_context).thaw(reason, dry_run=dry_run))


def _show(call_context: Context, output: FreezeOutput) -> None:
    call_context.show(output, lambda console: console.print(_line(output)))


def _line(output: FreezeOutput) -> str:
    would = "would be" if output.dry_run else "are"
    if output.frozen:
        until = f"until {amounts.when(output.until)}" if output.until else "until `flex thaw`"
        return f"Changes {would} frozen {until}."
    return f"Changes {would} free again." if output.since else "Nothing was frozen."

"""The verbs with which a person orders or forbids: freeze, thaw, approve, reject."""

from __future__ import annotations

from typing import Annotated

import typer

from flex.model.consent import Approval
from flex.model.operator_orders import Freeze
from flex_api.cli.common import Context, DryRun, PlanId, Reason, author, context, moment
from flex_api.cli.night import AsOf, show
from flex_api.cli.open_installation import open_world
from flex_api.night import approving, freezing
from flex_api.night.leases import lease
from flex_api.schemas.night import FreezeOutput
from flex_api.told import words

Checksum = Annotated[
    str, typer.Option(help="refuse unless the plan's digest begins so")
]
Agreed = Annotated[
    list[str] | None,
    typer.Option(
        "--force",
        metavar="RULE",
        help="a rule that it may go over, under safety.four_eyes",
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
    """Say yes to a plan. The plan is refused when another partition came into force after it was
    made.
    """
    found = context(ctx)
    with open_world(found, as_of, reason=reason) as here, lease(here, "approve"):
        said = Approval(
            "approve", author(), here.time_of_day(), reason, tuple(force or ())
        )
        plan = approving.approve(here, plan_id, said, checksum=checksum)
    show(found, plan)


def reject(
    ctx: typer.Context,
    plan_id: PlanId,
    checksum: Checksum = "",
    reason: Reason = "",
    as_of: AsOf = None,
) -> None:
    """Say no to a plan. It cannot be applied any more."""
    found = context(ctx)
    with open_world(found, as_of, reason=reason) as here, lease(here, "reject"):
        said = Approval("reject", author(), here.time_of_day(), reason)
        plan = approving.reject(here, plan_id, said, checksum=checksum)
    show(found, plan)


def freeze(
    ctx: typer.Context,
    until: Annotated[
        str,
        typer.Option(
            metavar="TIME",
            help="ends at this time; when left out it lasts until `flex thaw`",
        ),
    ] = "",
    reason: Reason = "",
    dry_run: DryRun = False,
) -> None:
    """Stop all changes in DNS. Each night still reads logs and makes a plan; nothing is applied."""
    found = context(ctx)
    with open_world(found, reason=reason) as here:
        wanted = Freeze(here.time_of_day(), moment("--until", until), reason, author())
        freezing.freeze(here, wanted, dry_run=dry_run)
    _show(found, wanted, frozen=True, dry_run=dry_run)


def thaw(ctx: typer.Context, reason: Reason = "", dry_run: DryRun = False) -> None:
    """End a freeze."""
    found = context(ctx)
    with open_world(found, reason=reason) as here:
        ended = freezing.thaw(here, dry_run=dry_run)
    _show(found, ended, frozen=False, dry_run=dry_run)


def _show(
    found: Context, freeze: Freeze | None, *, frozen: bool, dry_run: bool
) -> None:
    output = FreezeOutput(
        frozen=frozen,
        since=freeze.since if freeze else None,
        until=freeze.until if freeze else None,
        reason=freeze.reason if freeze else "",
        author=freeze.author if freeze else "",
        dry_run=dry_run,
    )
    found.show(output, lambda console: console.print(_line(output)))


def _line(output: FreezeOutput) -> str:
    would = "would be" if output.dry_run else "are"
    if output.frozen:
        until = (
            f"until {words.when(output.until)}" if output.until else "until `flex thaw`"
        )
        return f"Changes {would} frozen {until}."
    return f"Changes {would} free again." if output.since else "Nothing was frozen."

"""The verbs of the desk that a FLEX server does for us: freezes, the record, tokens, checks,
reports, runs.
"""

from __future__ import annotations

from itertools import islice
from pathlib import Path
from typing import Annotated

import typer

from flex_api import access, auditing
from flex_api.cli.common import Reason, given_as, moment, now
from flex_api.cli.night import Detailed, ReportForm, ReportFormat, deliver, exit_as
from flex_api.cli.server_client import Asked, asked_of
from flex_api.cli.tokens_and_audit import (
    Action,
    Actor,
    Expires,
    Last,
    Newest,
    Since,
    TokenName,
    TokenRole,
)
from flex_api.schemas.desk import (
    AuditOutput,
    AuditVerifyOutput,
    TokenOutput,
    TokenRow,
    TokensOutput,
)
from flex_api.schemas.night import FreezeOutput, JobOutput
from flex_api.schemas.rest import FreezeGiven, IngestGiven, TokenGiven
from flex_api.schemas.verbs import RunsOutput, VerifyOutput
from flex_api.told import desk_text, text, words

token_app = typer.Typer(
    help="Create, list and revoke tokens for the API and the pages.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
audit_app = typer.Typer(
    help="Show who changed what, when and why.", rich_markup_mode=None
)


def add_to(app: typer.Typer) -> None:
    for verb in (freeze, thaw, history, verify, report, ingest):
        app.command()(verb)
    app.add_typer(token_app, name="token")
    app.add_typer(audit_app, name="audit", invoke_without_command=True)


def freeze(
    ctx: typer.Context,
    until: Annotated[str, typer.Option(metavar="TIME")] = "",
    reason: Reason = "",
) -> None:
    """Stop all changes in DNS."""
    asked = asked_of(ctx)
    _, tag = asked.client.freeze()
    asked.client.put_freeze(
        given_as(FreezeGiven, until=moment("--until", until), reason=reason), tag
    )
    _show_freeze(asked)


def thaw(ctx: typer.Context, reason: Reason = "") -> None:
    """End a freeze."""
    asked = asked_of(ctx)
    asked.client.thaw(asked.client.freeze()[1], reason)
    _show_freeze(asked)


def _show_freeze(asked: Asked) -> None:
    found, _ = asked.client.freeze()
    output = FreezeOutput(dry_run=False, **found.model_dump())
    until = f" until {words.when(output.until)}" if output.until else ""
    said = f"Changes are frozen{until}." if output.frozen else "Changes are free."
    asked.context.show(output, lambda console: console.print(said))


def history(
    ctx: typer.Context, limit: Annotated[int, typer.Option(min=1, max=1000)] = 20
) -> None:
    """The latest runs, newest first."""
    asked = asked_of(ctx)
    output = RunsOutput(
        items=[row for row, _ in zip(asked.client.runs(), range(limit), strict=False)]
    )
    asked.context.show(output, lambda console: text.runs(console, output))


def ingest(ctx: typer.Context, reason: Reason = "") -> None:
    """Have the server read what is new in its logs; each line counts once."""
    asked = asked_of(ctx)
    ended = asked.client.follow(
        asked.client.read_logs(given_as(IngestGiven, reason=reason)), asked.context.say
    )
    output = JobOutput(
        id=ended.id,
        kind=ended.kind,
        state=ended.state,
        stage=ended.stage,
        result=ended.result,
    )
    asked.context.show(
        output, lambda console: console.print(f"{ended.state}: {ended.stage}")
    )


def verify(ctx: typer.Context, detailed_exitcode: Detailed = False) -> None:
    """Compare DNS with the partition in force. Exits as on the server itself."""
    asked = asked_of(ctx)
    found = asked.client.drift()
    output = VerifyOutput(
        partition=found.partition,
        servers=found.items,
        drift=found.drift,
        not_checked=found.not_checked,
        behind=found.behind,
        other_names=found.other_names,
    )
    asked.context.show(output, lambda console: text.show_verification(console, output))
    exit_as(output, detailed=detailed_exitcode)


def report(
    ctx: typer.Context,
    plan_id: Annotated[
        str,
        typer.Argument(
            metavar="PLAN", help="the id of a plan; the latest when left out"
        ),
    ] = "",
    to: Annotated[Path | None, typer.Option(help="write to this file")] = None,
    pdf: Annotated[
        bool, typer.Option("--pdf", help="as PDF, into the file of --to")
    ] = False,
    form: ReportForm = ReportFormat.HTML,
) -> None:
    """The report of a plan, to standard output or into a file."""
    asked = asked_of(ctx)
    deliver(
        asked.context,
        asked.client.report_pdf(plan_id) if pdf else asked.client.report(plan_id, form),
        to,
    )


@audit_app.callback()
def audit(
    ctx: typer.Context,
    limit: Newest = 50,
    actor: Actor = "",
    action: Action = "",
    since: Since = "",
) -> None:
    """The latest changes, newest first."""
    if ctx.invoked_subcommand:
        return
    asked, after = asked_of(ctx), moment("--since", since)
    wanted = {
        "actor": actor,
        "action": action,
        "since": after.isoformat() if after else "",
    }
    entries = asked.client.audit(
        **{name: value for name, value in wanted.items() if value},
        limit=min(limit, 1000),
    )
    output = AuditOutput(items=list(islice(entries, limit)))
    asked.context.show(output, lambda console: desk_text.audit(console, output))


@audit_app.command("verify")
def audit_verify(ctx: typer.Context, last: Last = "") -> None:
    """Check that no entry was altered, taken out or put in between, and that nothing is there
    without one.
    """
    asked = asked_of(ctx)
    found = asked.client.audit_verified(last)
    if not found.holds:
        raise auditing.altered_error(found.wrong)
    output = AuditVerifyOutput(entries=found.entries, last=found.last)
    asked.context.show(output, lambda console: desk_text.holds(console, output))


@token_app.command("create")
def token_create(
    ctx: typer.Context,
    name: TokenName,
    role: TokenRole = "viewer",
    expires: Expires = "",
    reason: Reason = "",
) -> None:
    """Make a token and print it, this once."""
    asked, ends = asked_of(ctx), moment("--expires", expires)
    given = given_as(
        TokenGiven, name=name, role=access.role_of(role), expires=ends, reason=reason
    )
    made = asked.client.make_token(given)
    output = TokenOutput(
        token=TokenRow(**made.model_dump(exclude={"secret"})), secret=made.secret
    )
    asked.context.show(output, lambda console: console.print(made.secret))


@token_app.command("list")
def token_list(ctx: typer.Context) -> None:
    """Every token, also those that open nothing any more; never their secrets."""
    asked = asked_of(ctx)
    output = TokensOutput(items=list(asked.client.tokens()))
    asked.context.show(output, lambda console: desk_text.tokens(console, output, now()))


@token_app.command("revoke")
def token_revoke(
    ctx: typer.Context,
    token_id: Annotated[str, typer.Argument(metavar="ID")],
    reason: Reason = "",
) -> None:
    """End a token, and the sessions that were opened with it."""
    asked = asked_of(ctx)
    asked.client.revoke(token_id, reason)
    output = TokenOutput(token=asked.client.token_row(token_id))
    asked.context.show(output, lambda console: desk_text.show_revoked(console, output))

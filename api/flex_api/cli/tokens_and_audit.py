"""The verbs of the record: who may come in, who changed what."""

from __future__ import annotations

from typing import Annotated

import typer

from flex_api import manage_tokens
from flex_api.cli import local_or_server
from flex_api.cli.common import Reason, context, moment, now
from flex_api.in_words import tokens_and_audit_text

token_app = typer.Typer(
    help="Create, list and revoke tokens for the API and the pages.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
audit_app = typer.Typer(
    help="Show who changed what, when and why. Entries are only added, each entry "
    "with the hash of the one before.",
    rich_markup_mode=None,
)


# What of the record is asked for.
Newest = Annotated[int, typer.Option(min=1, max=10_000, help="how many entries, the newest first")]
Actor = Annotated[str, typer.Option(help="only changes by this person or token")]
Action = Annotated[str, typer.Option(help="only this, such as pin or plan.settle")]
Since = Annotated[str, typer.Option(metavar="TIME", help="only changes since this time")]
Last = Annotated[
    str,
    typer.Option(
        metavar="HASH",
        help="the hash that was printed before; it shows whether the whole log was written anew",
    ),
]
TokenName = Annotated[str, typer.Argument(metavar="NAME", help="who or what will use it")]
TokenRole = Annotated[str, typer.Option(help="viewer, operator, approver or admin")]
Expires = Annotated[
    str,
    typer.Option(metavar="TIME", help="the last day, such as 2027-12-01; in a year when left out"),
]


def add_to(app: typer.Typer) -> None:
    app.add_typer(token_app, name="token")
    app.add_typer(audit_app, name="audit", invoke_without_command=True)


@token_app.command("create")
def token_create(
    ctx: typer.Context,
    name: TokenName,
    role: TokenRole = "viewer",
    expires: Expires = "",
    reason: Reason = "",
) -> None:
    """Make a token and print it, this once. FLEX keeps only its hash."""
    call_context = context(ctx)
    ends = moment("--expires", expires)
    by = local_or_server.tokens_and_audit(call_context)
    output = by.make_token(name, manage_tokens.role_of(role), ends, reason)
    call_context.show(output, lambda console: console.print(output.secret))


@token_app.command("list")
def token_list(ctx: typer.Context) -> None:
    """Every token, also those that open nothing any more; never their secrets."""
    call_context = context(ctx)
    output = local_or_server.tokens_and_audit(call_context).tokens()
    call_context.show(output, lambda console: tokens_and_audit_text.tokens(console, output, now()))


@token_app.command("revoke")
def token_revoke(
    ctx: typer.Context,
    token_id: Annotated[str, typer.Argument(metavar="ID", help="as `flex token list` shows it")],
    reason: Reason = "",
) -> None:
    """End a token, and the sessions that were opened with it."""
    call_context = context(ctx)
    output = local_or_server.tokens_and_audit(call_context).revoke(token_id, reason)
    call_context.show(output, lambda console: tokens_and_audit_text.show_revoked(console, output))


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
    call_context = context(ctx)
    after = moment("--since", since)
    output = local_or_server.tokens_and_audit(call_context).audit(limit, actor, action, after)
    call_context.show(output, lambda console: tokens_and_audit_text.audit(console, output))


@audit_app.command("verify")
def audit_verify(ctx: typer.Context, last: Last = "") -> None:
    """Check that no entry was altered, taken out or put in between, and that all is as they say.

    Prints the last hash, to be noted elsewhere.
    """
    call_context = context(ctx)
    output = local_or_server.tokens_and_audit(call_context).check_audit(last)
    call_context.show(output, lambda console: tokens_and_audit_text.holds(console, output))

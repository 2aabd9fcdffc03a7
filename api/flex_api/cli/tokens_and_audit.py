"""The verbs of the record: who may come in, who changed what."""

from __future__ import annotations

from typing import Annotated

import typer

from flex.model.audit_chain import Author
from flex_api import access, auditing
from flex_api.access import Caller
from flex_api.cli.common import Reason, author, context, moment, now
from flex_api.cli.open_installation import open_world
from flex_api.schemas.desk import (
    AuditOutput,
    AuditVerifyOutput,
    TokenOutput,
    TokensOutput,
    audit_row,
    token_row,
)
from flex_api.told import desk_text

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


# What of the record is asked for, here and of a FLEX server alike.
Newest = Annotated[int, typer.Option(min=1, max=10_000)]
Actor = Annotated[str, typer.Option(help="only changes by this person or token")]
Action = Annotated[str, typer.Option(help="only this, such as pin or plan.settle")]
Since = Annotated[
    str, typer.Option(metavar="TIME", help="only changes since this time")
]
Last = Annotated[
    str,
    typer.Option(
        metavar="HASH",
        help="the hash that was printed before; it shows whether the whole log was written anew",
    ),
]
TokenName = Annotated[
    str, typer.Argument(metavar="NAME", help="who or what will use it")
]
TokenRole = Annotated[str, typer.Option(help="viewer, operator, approver or admin")]
Expires = Annotated[
    str,
    typer.Option(
        metavar="TIME", help="the last day, such as 2027-12-01; in a year when left out"
    ),
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
    found = context(ctx)
    with open_world(found, reason=reason) as here:
        ends = moment("--expires", expires)
        token, secret = access.create(
            here.store, _me(), name, access.role_of(role), now(), ends
        )
    output = TokenOutput(token=token_row(token), secret=secret)
    found.show(output, lambda console: console.print(secret))


@token_app.command("list")
def token_list(ctx: typer.Context) -> None:
    """Every token, also those that open nothing any more; never their secrets."""
    found = context(ctx)
    with open_world(found) as here:
        output = TokensOutput(
            items=[
                token_row(token) for token in here.store.tokens() if not token.parent
            ]
        )
    found.show(output, lambda console: desk_text.tokens(console, output, now()))


@token_app.command("revoke")
def token_revoke(
    ctx: typer.Context,
    token_id: Annotated[
        str, typer.Argument(metavar="ID", help="as `flex token list` shows it")
    ],
    reason: Reason = "",
) -> None:
    """End a token, and the sessions that were opened with it."""
    found = context(ctx)
    with open_world(found, reason=reason) as here:
        token = access.revoke(here.store, _me(), token_id, now())
    output = TokenOutput(token=token_row(token))
    found.show(output, lambda console: desk_text.show_revoked(console, output))


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
    found = context(ctx)
    with open_world(found) as here:
        entries = here.store.found_entries(
            limit, actor=actor, action=action, since=moment("--since", since)
        )
        output = AuditOutput(items=list(map(audit_row, entries)))
    found.show(output, lambda console: desk_text.audit(console, output))


@audit_app.command("verify")
def audit_verify(ctx: typer.Context, last: Last = "") -> None:
    """Check that no entry was altered, taken out or put in between, and that all is as they say.

    Prints the last hash, to be noted elsewhere.
    """
    found = context(ctx)
    with open_world(found) as here:
        head = auditing.verify_record(here.store, last)
    output = AuditVerifyOutput(entries=head.number, last=head.hash)
    found.show(output, lambda console: desk_text.holds(console, output))


def _me() -> Caller:
    """Who may open the database may do everything."""
    return Caller(Author(author()).name, "admin")

"""The verbs that a FLEX server runs for us: `flex --server URL --token-file FILE ...`, with the
same options.

Does not read settings or the database. A verb that is not here works on the server's own machine
only.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from flex.errors import BadInput
from flex_api import client as clients
from flex_api.cli import remote_desk, remote_plans, remote_things
from flex_api.cli.common import Format, context
from flex_api.cli.verb_groups import VerbGroups

HELP = (
    "Verbs that a FLEX server carries out. Put --server URL --token-file FILE before "
    "the verb. The token says what you may do."
)

app = typer.Typer(
    name="flex",
    cls=VerbGroups,
    help=HELP,
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
)
app.add_typer(remote_things.sites_app, name="sites")
app.add_typer(remote_things.nodes_app, name="nodes")
remote_plans.add_to(app)
remote_desk.add_to(app)


@app.callback()
def options(
    ctx: typer.Context,
    server: Annotated[str, typer.Option(help="such as https://flex.example.net")] = "",
    token_file: Annotated[
        Path | None,
        typer.Option(help="the file that holds the token, and nothing else"),
    ] = None,
    output: Annotated[
        Format, typer.Option("--output", "-o", help="for people or for programs")
    ] = Format.TABLE,
    no_color: Annotated[
        bool, typer.Option("--no-color", help="also: NO_COLOR in the environment")
    ] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="errors only")] = False,
) -> None:
    found = context(ctx)
    found.output, found.quiet, found.color = output, quiet, not no_color
    found.remote = clients.client(server, _token(token_file))


@app.command(
    "route",
    hidden=True,
    context_settings={"allow_extra_args": True, "ignore_unknown_options": True},
)
def route() -> None:
    """Works without --server. Raises BadInput, which says how."""
    raise BadInput(
        "flex --server URL route",
        "its verbs work on the machine they are for",
        kept="nothing was changed",
        advice="on a node: flex route apply --from URL/api/v1/routing/nodes/NODE "
        "--token-file FILE; the others on the "
        "controller",
    )


def _token(path: Path | None) -> str:
    """Never an argument: those are seen by everybody on the machine. Raises BadInput."""
    if path is None:
        raise _bad(
            "--server without --token-file",
            "nobody would know who asks",
            "name the file with the token",
        )
    return token_in(path)


def token_in(path: Path) -> str:
    """Raises BadInput where there is none, or more than that; what is there is never repeated."""
    try:
        token = path.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        answer = getattr(error, "strerror", None) or "it is not plain text"
        raise _bad(
            f"--token-file {path}",
            answer,
            "put the token there, readable for you alone",
        ) from error
    if not (token.isascii() and token.isprintable() and " " not in token):
        raise _bad(
            f"--token-file {path}",
            "it holds more than a token",
            "put the token there, and nothing else",
        )
    return token


def _bad(asked: str, answer: str, advice: str) -> BadInput:
    return BadInput(asked, answer, kept="nothing was asked", advice=advice)

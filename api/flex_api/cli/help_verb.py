"""The verb `flex help`: all verbs, the exit codes, or the help of one verb."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer
from typer._click.exceptions import UsageError
from typer.core import TyperGroup

from flex_api.cli.local_only import only_here
from flex_api.cli.verb_groups import VerbGroups

if TYPE_CHECKING:
    from typer._click.core import Context


def add_to(app: typer.Typer) -> None:
    app.command(name="help")(show_help)


@only_here("it is about the program itself")
def show_help(
    ctx: typer.Context,
    topic: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[all | exit-codes | VERB...]", help="of what; else the verbs to begin with"
        ),
    ] = None,
) -> None:
    """Show all verbs, the exit codes, or the help of one verb."""
    from flex_api.cli import EXIT_CODES

    program = ctx.parent
    assert program, "flex itself"
    root = program.command
    assert isinstance(root, VerbGroups), "it has the verbs"
    if topic == ["exit-codes"]:
        typer.echo(EXIT_CODES.strip())
    elif topic == ["all"]:
        formatter = program.make_formatter()
        root.list_all_verbs(formatter)
        typer.echo(formatter.getvalue().strip())
    else:
        typer.echo(_help_of(program, topic or []))


def _help_of(program: Context, words: list[str]) -> str:
    """Raises UsageError for a verb that there is not."""
    place = program
    for word in words:
        group = place.command
        verb = None
        if isinstance(group, TyperGroup):
            _, verb, _ = group.resolve_command(place, [word])
        if verb is None:
            raise UsageError(f"No such command {word!r}.", place)
        place = verb.make_context(word, [], parent=place, resilient_parsing=True)
    return place.command.get_help(place)

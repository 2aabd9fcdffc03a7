"""Options that every verb takes, before the verb and behind it.

Takes a verb, and gives it and the verbs below it these options. An option that is given behind the
verb is in the context before the verb runs.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Annotated

import typer
from typer.main import get_command

from flex_api.cli.common import Format, context

if TYPE_CHECKING:
    from collections.abc import Iterator

    from typer._click.core import Command, Parameter


def add_to(verb: Command) -> None:
    output = _output()
    for each in (verb, *below(verb)):
        each.params.append(output)


def below(group: Command) -> Iterator[Command]:
    for verb in getattr(group, "commands", {}).values():
        yield verb
        yield from below(verb)


def _choose(ctx: typer.Context, wanted: Format | None) -> None:
    if wanted is not None:
        context(ctx).output = wanted


Output = Annotated[
    Format | None,
    typer.Option(
        "--output", "-o", callback=_choose, expose_value=False, help="for people or for programs"
    ),
]


def _alone(output: Output = None) -> None:
    """A verb of this option and nothing else: Typer makes of it what verbs are given."""


# To have Typer make it takes as long as to have it make a verb.
@cache
def _output() -> Parameter:
    donor = typer.Typer(add_completion=False)
    donor.command()(_alone)
    return get_command(donor).params[0]

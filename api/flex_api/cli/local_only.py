"""What a FLEX server does not do: a verb or an option says so where it is defined, by its reason.

Takes the reason. Returns the verb or the option, whose help says it. With `--server` it raises an
error that says the same, and nothing is asked. What says nothing is the same here and with
`--server`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from datetime import datetime
from functools import wraps
from typing import Annotated, Any, ParamSpec, TypeVar

import typer
from typer._click.core import ParameterSource
from typer._click.globals import get_current_context

from flex.errors import BadInput, Misused
from flex_api.cli.common import Context

# What help says in front of the reason, of a verb and of an option.
OF_A_VERB = "On this machine only: "
OF_AN_OPTION = "; on this machine only: "
# What helps where a verb works on its own machine only.
HERE = "run it on that machine, without --server"
# The reason that several options share. A caller who acts at another time could go past windows,
# freezes and the expiry of plans.
OWN_CLOCK = "a server goes by its own clock"

Given = ParamSpec("Given")
Value = TypeVar("Value")


def only_here(
    why: str, *, error: type[BadInput] = Misused, advice: str = HERE
) -> Callable[[Callable[Given, None]], Callable[Given, None]]:
    """For a verb."""

    def mark(verb: Callable[Given, None]) -> Callable[Given, None]:
        @wraps(verb)
        def verb_here(*given: Given.args, **options: Given.kwargs) -> None:
            ctx = get_current_context()
            context = ctx.obj
            if isinstance(context, Context) and context.remote:
                raise error(
                    f"{ctx.command_path} with --server",
                    f"it works on its own machine only: {why}",
                    kept="nothing was asked or changed",
                    advice=advice,
                )
            verb(*given, **options)

        verb_here.__doc__ = f"{inspect.getdoc(verb) or ''}\n\n{OF_A_VERB}{why}.".strip()
        return verb_here

    return mark


def all_only_here(
    app: typer.Typer, why: str, *, error: type[BadInput] = Misused, advice: str = HERE
) -> None:
    """For every verb of a group, and for its own help."""
    app.info.help = f"{app.info.help}\n\n{OF_A_VERB}{why}."
    mark = only_here(why, error=error, advice=advice)
    for verb in app.registered_commands:
        if verb.callback:
            verb.callback = mark(verb.callback)
    if app.registered_callback and app.registered_callback.callback:
        app.registered_callback.callback = mark(app.registered_callback.callback)


# Any: what Typer takes of an option, and what it calls an option.
def option_here(why: str, *names: str, help: str, **more: Any) -> Any:  # noqa: A002  Typer's word
    """For an option of a verb that a server does without it."""
    told = f"{help}{OF_AN_OPTION}{why}"
    return typer.Option(*names, help=told, callback=_refusal(why), **more)


def argument_here(why: str, *, help: str, **more: Any) -> Any:  # noqa: A002  Typer's word
    """The same for an argument that may be left out."""
    told = f"{help}{OF_AN_OPTION}{why}"
    return typer.Argument(help=told, callback=_refusal(why), **more)


def _refusal(why: str) -> Callable[[typer.Context, typer.CallbackParam, Value], Value]:
    def refuse(ctx: typer.Context, param: typer.CallbackParam, value: Value) -> Value:
        """Raises Misused where it is given and a server is asked."""
        context, name = ctx.obj, param.name or ""
        is_given = ctx.get_parameter_source(name) is ParameterSource.COMMANDLINE
        if isinstance(context, Context) and context.remote and is_given:
            raise Misused(
                f"{_as_typed(param)} with --server",
                why,
                kept="nothing was asked",
                advice="leave it out, or run the verb on the server's own machine",
            )
        return value

    return refuse


def _as_typed(param: typer.CallbackParam) -> str:
    """As it stands on the command line: --as-of, FILE."""
    if param.param_type_name == "option":
        return str(param.opts[0])
    return (param.metavar or param.name or "").strip("[].")


AsOf = Annotated[
    datetime | None,
    option_here(
        OWN_CLOCK,
        "--as-of",
        metavar="TIME",
        formats=[
            "%Y-%m-%dT%H:%M:%S",
            "%Y-%m-%dT%H:%M:%SZ",
            "%Y-%m-%dT%H:%M",
            "%Y-%m-%dT%H:%MZ",
            "%Y-%m-%d",
        ],
        help="act as if it were this time (such as 2026-03-01 or 2026-03-01T02:30, in UTC), "
        "to try old logs",
    ),
]

"""An option of the command line for each field of a wish, as flex/model/wish.py describes it.

Takes a verb with a parameter `asked`. Returns the verb with the options in its place; what they say
comes to it as `asked`, by the names of the fields.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from functools import wraps
from typing import Annotated, Any

import typer

from flex.model.wish import ASKS, DEFAULTS, option
from flex_api import which_names_are_sites
from flex_api.cli.common import split_names

# How several names are written, by what they are names of.
EXAMPLES = {"node": ": n1,n2", "site": ": a.example,b.example"}
PARAMETER = "asked"

# Any: values of any field, and verbs with any parameters.
Asked = Mapping[str, Any]
Verb = Callable[..., None]


def add_wish_options(verb: Verb) -> Verb:
    options = {name: _option(name) for name in ASKS if option(name)}

    @wraps(verb)
    def verb_with_options(**given: Any) -> None:
        wish_fields = {name: _value(name, given.pop(name)) for name in options}
        verb(**given, **{PARAMETER: wish_fields})

    own = inspect.signature(verb, eval_str=True)
    parameters: list[inspect.Parameter] = []
    for parameter in own.parameters.values():
        if parameter.name == PARAMETER:
            parameters += options.values()
        else:
            parameters.append(parameter)
    # Typer makes options of the parameters that it is shown.
    signature = own.replace(parameters=parameters)
    # Functions may have one.
    verb_with_options.__signature__ = signature  # type: ignore[attr-defined]
    return verb_with_options


def _option(name: str) -> inspect.Parameter:
    words, default = ASKS[name], DEFAULTS[name]
    several = isinstance(default, tuple)
    example = EXAMPLES.get(words.of or "", "") if several else ""
    # A number that is out of other bounds is refused where the wish is judged, with the reason.
    least = int(words.least) if words.least is not None and type(default) is int else None
    shown = typer.Option(option(name), min=least, help=words.help + example)
    return inspect.Parameter(
        name,
        inspect.Parameter.POSITIONAL_OR_KEYWORD,
        default="" if several else default,
        annotation=Annotated[str if several else type(default), shown],
    )


def _value(name: str, given: Any) -> Any:
    """Any: as it is in a pin."""
    if not isinstance(DEFAULTS[name], tuple):
        return given
    names = split_names(given)
    return tuple(map(which_names_are_sites.site_name, names)) if ASKS[name].of == "site" else names

"""What is wrong with a setting, in words for people: where it stands, what it was, what would be
right.
"""

from __future__ import annotations

import difflib
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from pydantic import BaseModel, ValidationError

# What is quoted of a settings file: nobody needs more to find the place.
_QUOTED = 100
# The longest sentence about a setting.
_SENTENCE = 600

# What would do, for each kind of error that pydantic finds by itself; {} are what it was compared
# with.
_WANTED = {
    "bool_parsing": "wanted true or false",
    "bool_type": "wanted true or false",
    "dict_type": "wanted a table, as in {{name = 'value'}}",
    "finite_number": "wanted a number that is finite",
    "float_parsing": "wanted a number",
    "float_type": "wanted a number",
    "greater_than": "wanted more than {gt:g}",
    "greater_than_equal": "wanted {ge} or more",
    "int_from_float": "wanted a whole number",
    "int_parsing": "wanted a whole number",
    "int_parsing_size": "wanted a smaller number",
    "int_type": "wanted a whole number",
    "less_than": "wanted less than {lt:g}",
    "less_than_equal": "wanted {le} or less",
    "literal_error": "wanted {expected}",
    "model_type": "wanted a section, as in [section]",
    "path_type": "wanted a path in quotes",
    "string_too_long": "wanted at most {max_length} characters",
    "string_too_short": "wanted at least {min_length} character(s)",
    "string_type": "wanted a text in quotes",
    "too_long": "wanted a list with at most {max_length} in it",
    "too_short": "wanted a list with at least {min_length} in it",
    "timezone_aware": "wanted a moment with its zone, such as 2026-12-01T06:00:00Z",
    "datetime_type": "wanted a moment, such as 2026-12-01T06:00:00Z",
    "datetime_from_date_parsing": "wanted a moment, such as 2026-12-01T06:00:00Z",
    "tuple_type": "wanted a list, as in ['one', 'two']",
}


# The same where a text has to be of some form: a piece of the form, and what would do.
_FORMS = {
    "https?": "wanted an address such as 'https://flex.example.org/'",
    "1,5}": "wanted a host and a port, such as 'localhost:25'",
    "A-Za-z0-9": "wanted letters, digits, points, hyphens and underscores, beginning "
    "with a letter or a digit",
}


def explain(error: ValidationError, settings: type[BaseModel]) -> list[str]:
    """A line for each thing that is wrong: a list is not too short where its parts are wrong."""
    problems = error.errors()
    wrong = {problem["loc"][:-1] for problem in problems}
    return [
        _explain(problem, settings)
        for problem in problems
        if not (problem["type"] == "too_short" and problem["loc"] in wrong)
    ]


def _explain(problem: Any, settings: type[BaseModel]) -> str:
    """Any: pydantic's description of one error is a loose dictionary."""
    where = _short(".".join(str(part) for part in problem["loc"]))
    if problem["type"] == "extra_forbidden":
        return f"{where}: there is no such setting{_likely_meant(problem['loc'], settings)}"
    if problem["type"] == "missing":
        return _missing(problem["loc"])
    message, given = _message(problem, settings), problem["input"]
    if not where:
        return message
    # What is wrong with a section as a whole is not told by all that stands in it.
    return (
        f"{where}: {message}"
        if _is_section(given)
        else f"{where} = {_short(repr(given))}: {message}"
    )


def _missing(loc: Sequence[str | int]) -> str:
    """What lacks it, by its number where a section may stand several times."""
    *section, name = loc
    if section and isinstance(section[-1], int):
        of = ".".join(map(str, section[:-1]))
        return f"[[{of}]], number {section[-1] + 1}: `{name}` is missing"
    return f"{_short('.'.join(map(str, loc)))}: this setting must be given"


def _message(problem: Any, settings: type[BaseModel]) -> str:
    """Any: as above."""
    if problem["type"] == "tuple_type" and _section(problem["loc"], settings):
        return "wanted a section, as in [[section]]"
    return (
        explain_value(problem)
        or "this is not what is wanted here; `flex config schema` says what is"
    )


def explain_value(problem: Any) -> str:
    """What would do; "" where only a schema says that. What pydantic says of values is not meant
    for operators; what our own checks say is. Any: as above.
    """
    if problem["type"] == "value_error":
        message = str(problem["msg"]).removeprefix("Value error, ")
        return re.sub(rf"\S{{{_QUOTED},}}", lambda word: _short(word[0]), message)[:_SENTENCE]
    if wanted := _WANTED.get(problem["type"]):
        return wanted.format(**problem.get("ctx", {}))
    form = str(problem.get("ctx", {}).get("pattern", ""))
    return next((wanted for piece, wanted in _FORMS.items() if piece in form), "")


def _is_section(given: object) -> bool:
    inside = given if isinstance(given, (list, tuple)) else [given]
    return any(isinstance(each, (dict, BaseModel)) for each in inside)


def _short(text: str) -> str:
    return text if len(text) <= _QUOTED else f"{text[:_QUOTED]}..."


def require_known(value: str, name: str, known: Sequence[str]) -> str:
    """The value, when its name is one of those known. Raises ValueError with the nearest of
    them.
    """
    if name in known:
        return value
    near = difflib.get_close_matches(name, known, n=1)
    raise ValueError(f"did you mean {near[0]!r}?" if near else f"there are {', '.join(known)}")


def _likely_meant(location: tuple[str | int, ...], settings: type[BaseModel]) -> str:
    section = _section(location[:-1], settings)
    known = [name for name in section.model_fields if name != "schema_"] if section else []
    near = difflib.get_close_matches(str(location[-1]), known, n=1)
    return f"; did you mean {near[0]!r}?" if near else f"; there are {', '.join(known)}"


def _section(location: tuple[str | int, ...], settings: type[BaseModel]) -> type[BaseModel] | None:
    model: type[BaseModel] | None = settings
    for part in location:
        if isinstance(part, str) and model and part in model.model_fields:
            model = next(iter(_models(model.model_fields[part].annotation)), None)
    return model


def _models(annotation: Any) -> Iterator[type[BaseModel]]:
    """Any: a type as it was written, such as tuple[NodeSection, ...]."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for argument in getattr(annotation, "__args__", ()):
        yield from _models(argument)


def twice_in(names: Sequence[str]) -> str:
    """The first, in order, that is there more than once; empty when each is there once."""
    counts = Counter(names)
    return min((name for name, count in counts.items() if count > 1), default="")

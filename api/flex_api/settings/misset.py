"""What is wrong with a setting, as a person would say it: where it stands, what it was, what would do."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence
from typing import Any

from pydantic import BaseModel


def explained(problem: Any, settings: type[BaseModel]) -> str:
    """Any: pydantic's description of one error is a loose dictionary."""
    where = ".".join(str(part) for part in problem["loc"])
    if problem["type"] == "extra_forbidden":
        return f"{where}: there is no such setting{_meant(problem['loc'], settings)}"
    if problem["type"] == "missing":
        return f"{where}: this setting must be given"
    message = problem["msg"].removeprefix("Value error, ")
    return f"{where} = {problem['input']!r}: {message}" if where else message


def of_register(value: str, name: str, known: Sequence[str]) -> str:
    """The value, when its name is one of those known. Raises ValueError with the nearest of them."""
    if name in known:
        return value
    near = difflib.get_close_matches(name, known, n=1)
    raise ValueError(f"did you mean {near[0]!r}?" if near else f"there are {', '.join(known)}")


def _meant(location: tuple[str | int, ...], settings: type[BaseModel]) -> str:
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
    return min((name for name in names if names.count(name) > 1), default="")

"""Which parameters an address takes. An unknown one is an error, so that no filter is silently
ignored.

Takes a request that has found its route. Returns nothing, or refuses it. Does not look at pages
that take the whole request: they check their query themselves.
"""

from __future__ import annotations

from fastapi import Request
from fastapi.dependencies.models import Dependant
from fastapi.routing import APIRoute
from pydantic import BaseModel

from flex.errors import BadInput

# What a page is told of what was done by the form before it.
DONE = "done"


def refuse_unknown(request: Request) -> None:
    """Raises BadInput."""
    route = request.scope["route"]
    if not request.query_params or not isinstance(route, APIRoute):
        return
    is_page = not route.path.startswith("/api/")
    if is_page and route.dependant.request_param_name:
        return
    there = _names_of(route.dependant)
    if unknown := sorted(set(request.query_params) - there - ({DONE} if is_page else set())):
        raise BadInput(
            f"the unknown parameter {unknown[0][:100]!r}",
            f"known here: {', '.join(sorted(there)) or 'none'}",
            kept="nothing was read or changed",
            advice="leave it out, or see /api/docs for what can be asked",
        )


def _names_of(dependant: Dependant) -> set[str]:
    names = set[str]()
    for parameter in dependant.query_params:
        kind = parameter.field_info.annotation
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            names |= set(kind.model_fields)
        else:
            names.add(parameter.alias)
    return names.union(*(_names_of(inner) for inner in dependant.dependencies))

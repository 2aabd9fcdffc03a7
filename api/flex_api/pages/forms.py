"""What forms bring and what queries ask, as the models that the REST API takes; and where a browser goes afterwards.

In go a request's fields, out come models or BadInput. An empty field of a form is one that was left out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated, TypeVar, get_origin
from urllib.parse import quote, urlencode

from fastapi import Depends, Request
from fastapi.responses import RedirectResponse, Response
from pydantic import BaseModel, ValidationError

from flex.errors import BadInput
from flex_api.web.formed import local

Model = TypeVar("Model", bound=BaseModel)

# What a page says once something was done; the word for it stands in the address that the form leads to.
DONE = {
    "approved": "Approved. It can be applied now.",
    "rejected": "Rejected. It will not be applied.",
    "discarded": "Discarded. It will not be applied.",
    "pinned": "The wish is kept from the next plan on.",
    "unpinned": "The wish is taken back.",
    "drained": "The node gives its sites away with the next plan.",
    "undrained": "The node is given sites again from the next plan on.",
    "frozen": "All changes in DNS are frozen.",
    "thawed": "Changes in DNS go on.",
    "revoked": "The token opens nothing any more.",
    "cancelled": "It ends at the next safe point.",
    "plan": "The plan is made.",
    "rollback": "The plan back is made. Look it over, then apply it like any other.",
    "apply": "Applied, and checked on the name servers.",
    "ingest": "The logs are read.",
}


@dataclass(frozen=True, slots=True)
class Form:
    """The fields of a form, each with the values it had."""

    fields: Mapping[str, Sequence[str]]

    def text(self, name: str) -> str:
        return next(iter(self.fields.get(name, ())), "").strip()

    def words(self, name: str) -> tuple[str, ...]:
        """Of a field with several values, or several words in one."""
        return tuple(word for value in self.fields.get(name, ()) for word in value.replace(",", " ").split())


async def _form(request: Request) -> Form:
    form = Form(getattr(request.state, "form", {}))
    # Where a refusal leads back to.
    request.state.back = local(form.text("back"))
    return form


TheForm = Annotated[Form, Depends(_form)]


def given(model: type[Model], form: Form, **more: object) -> Model:
    """What the REST API would have been sent."""
    found: dict[str, object] = {}
    for name, field in model.model_fields.items():
        several = get_origin(field.annotation) is tuple
        value = form.words(name) if several else form.text(name)
        if value:
            found[name] = value
    return valid(model, {**found, **more})


def asked(model: type[Model], request: Request, *besides: str) -> Model:
    """The query of a page; `besides` are parameters of the page's own. The address is all that a page remembers."""
    found = {name: value for name, value in request.query_params.items() if value and name not in besides}
    found.pop("done", None)
    return valid(model, found)


def valid(model: type[Model], found: Mapping[str, object], named: Mapping[str, str] | None = None) -> Model:
    """`named` are the fields that the page calls otherwise. Raises BadInput, in the words of the page."""
    try:
        return model.model_validate(found)
    except ValidationError as error:
        first = error.errors()[0]
        field = str(next(iter(first["loc"]), ""))
        where = (named or {}).get(field, " ".join(map(str, first["loc"])))
        said = "it holds what does not belong there" if first["type"] == "string_pattern_mismatch" else first["msg"]
        raise BadInput(
            f"the field {where}", said, kept="nothing was changed", advice="correct it and send it again"
        ) from error


def moment(text: str, name: str) -> datetime | None:
    """What a browser's field for a date and a time says, in UTC."""
    if not text:
        return None
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        raise BadInput(
            f"the field {name}",
            f"{text[:40]!r} is no date and time",
            kept="nothing was changed",
            advice="write it as 2026-12-01T06:00, in UTC",
        ) from None
    return found if found.tzinfo else found.replace(tzinfo=UTC)


def address(path: str, **query: str) -> str:
    """Of a page, with what it should show."""
    said = {name: value for name, value in query.items() if value}
    return f"{quote(path)}{'?' if said else ''}{urlencode(said)}"


def done(word: str, path: str, **query: str) -> Response:
    """A browser that reloads what it is led to does nothing twice."""
    return RedirectResponse(address(path, **query, done=word), 303)

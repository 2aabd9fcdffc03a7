"""The fields of forms and queries as the models that the REST API takes, and where the browser goes
afterwards.

Takes the fields of a request. Returns models, or raises BadInput. An empty field of a form counts
as left out.
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

from flex.errors import BadInput, FlexError
from flex.model.wish import DEFAULTS
from flex_api.problem_kinds import Problem
from flex_api.routes import problems
from flex_api.settings.explain_bad_settings import explain_value
from flex_api.web.form_body import local

Model = TypeVar("Model", bound=BaseModel)

# What a page says once something was done; the word for it stands in the address that the form
# leads to.
DONE = {
    "approved": "Approved. It can be applied now.",
    "rejected": "Rejected. It will not be applied.",
    "discarded": "Discarded. It will not be applied.",
    "pinned": "The wish holds from the next plan on.",
    "unpinned": "The wish is taken back.",
    "drained": "The node gives its sites away with the next plan.",
    "undrained": "The node is given sites again from the next plan on.",
    "frozen": "All changes in DNS are frozen.",
    "thawed": "Changes in DNS go on.",
    "revoked": "The token is revoked.",
    "cancelled": "It ends at the next safe point.",
    "plan": "The plan is made.",
    "rollback": "The plan that goes back is made. Review it, then apply it like any other.",
    "move": "The plan that moves the site is made. Review it, then apply it like any other.",
    "apply": "Applied, and checked on the name servers.",
    "ingest": "The logs are read.",
    "again": "The site may move again with the next plan.",
    "asked": "The name servers were asked.",
}


# Fields of a wish that several names can stand in.
SEVERAL = tuple(name for name, default in DEFAULTS.items() if isinstance(default, tuple))


@dataclass(frozen=True, slots=True)
class Form:
    """The fields of a form, each with the values it had."""

    fields: Mapping[str, Sequence[str]]

    def text(self, name: str) -> str:
        return next(iter(self.fields.get(name, ())), "").strip()

    def words(self, name: str) -> tuple[str, ...]:
        """The words of a field that may have several values, or several words in one value."""
        return tuple(
            word for value in self.fields.get(name, ()) for word in value.replace(",", " ").split()
        )


@dataclass(frozen=True, slots=True)
class Sent:
    """A form as it is shown: with what was typed and what is wrong where it was refused; else as it
    begins.
    """

    form: Form = Form({})
    problem: Problem | None = None

    def typed_text(self, name: str, begins: object = "") -> str:
        return (
            " ".join(self.form.words(name))
            if name in SEVERAL and self.problem
            else self._one(name, begins)
        )

    def ticked(self, name: str, value: str, begins: object = False) -> bool:
        return value in self.form.words(name) if self.problem else bool(begins)

    def invalid(self, name: str) -> bool:
        """Whether the field is what was refused."""
        return self.problem is not None and self.problem.asked == f"the field {name}"

    def _one(self, name: str, begins: object) -> str:
        return self.form.text(name) if self.problem else str(begins)


@dataclass(frozen=True, slots=True)
class Refusal:
    """What was sent to an address of ours and refused."""

    action: str
    sent: Sent


def refuse(request: Request, action: str, error: FlexError) -> Problem:
    """For a form that is sent as an address (GET): its page shows at the form what is wrong with
    it.
    """
    problem = problems.problem(request.url.path, request.state.request_id, error)
    request.state.refusal = Refusal(action, Sent(form_of_query(request), problem))
    return problem


async def _form(request: Request) -> Form:
    form = Form(getattr(request.state, "form", {}))
    # Where a refusal leads back to.
    request.state.back = local(form.text("back"))
    return form


TheForm = Annotated[Form, Depends(_form)]


def form_of_query(request: Request) -> Form:
    """What a form says whose answer is an address."""
    return Form({name: request.query_params.getlist(name) for name in request.query_params})


def from_form(model: type[Model], form: Form, **more: object) -> Model:
    """What the REST API would have been sent."""
    fields: dict[str, object] = {}
    for name, field in model.model_fields.items():
        several = get_origin(field.annotation) is tuple
        value = form.words(name) if several else form.text(name)
        if value:
            fields[name] = value
    return valid(model, {**fields, **more})


def from_query_form(model: type[Model], request: Request, *besides: str) -> Model:
    """What a form says whose answer is an address; `besides` are parameters of the page's own.
    Raises BadInput for one that nobody knows, too: it would be a wish that is quietly not met.
    """
    form = form_of_query(request)
    for name in sorted(set(form.fields) - {*model.model_fields, *besides}):
        raise BadInput(
            f"the unknown parameter {name[:100]!r}",
            f"known here: {', '.join(sorted(model.model_fields))}",
            advice="leave it out",
        )
    return from_form(model, form)


def from_query(model: type[Model], request: Request, *besides: str) -> Model:
    """The query of a page; `besides` are parameters of the page's own. The address is all that a
    page remembers.
    """
    parameters = {
        name: value for name, value in request.query_params.items() if value and name not in besides
    }
    parameters.pop("done", None)
    return valid(model, parameters)


def valid(
    model: type[Model], fields: Mapping[str, object], named: Mapping[str, str] | None = None
) -> Model:
    """`named` are the fields that the page calls otherwise. Raises BadInput, in the words of the
    page.
    """
    try:
        return model.model_validate(fields)
    except ValidationError as error:
        first = error.errors()[0]
        field = str(next(iter(first["loc"]), ""))
        where = (named or {}).get(field, " ".join(map(str, first["loc"])))
        answer = (
            "there is no such field on this page"
            if first["type"] == "extra_forbidden"
            else "it must be given"
            if first["type"] == "missing"
            else explain_value(first) or "it holds what does not belong there"
        )
        raise BadInput(
            f"the field {where}", answer, advice="correct it and send it again"
        ) from error


def moment(text: str, name: str) -> datetime | None:
    """What a browser's field for a date and a time says, in UTC."""
    if not text:
        return None
    try:
        parsed_time = datetime.fromisoformat(text)
    except ValueError:
        raise BadInput(
            f"the field {name}",
            f"{text[:40]!r} is no date and time",
            advice="write it as 2026-12-01T06:00, in UTC",
        ) from None
    return parsed_time if parsed_time.tzinfo else parsed_time.replace(tzinfo=UTC)


def address(path: str, **query: str) -> str:
    """The address of a page, with what it should show."""
    parameters = {name: value for name, value in query.items() if value}
    return f"{quote(path)}{'?' if parameters else ''}{urlencode(parameters)}"


def led_on(request: Request, to: str) -> Response:
    """A script follows a redirect by itself and would put that page into this one."""
    by_script = "hx-request" in request.headers
    return Response(headers={"HX-Redirect": to}) if by_script else RedirectResponse(to, 303)


def redirect_after(word: str, path: str, **query: str) -> Response:
    """A browser that reloads what it is led to does nothing twice."""
    return RedirectResponse(address(path, **query, done=word), 303)

"""Settings: what is in force and where it comes from, the freeze, and tokens."""

from __future__ import annotations

import re
from datetime import timedelta
from itertools import groupby

from fastapi import APIRouter, Response
from fastapi.responses import HTMLResponse
from pydantic import TypeAdapter

from flex.model.roles_and_tokens import ROLES
from flex_api.in_words import amounts
from flex_api.pages.forms import TheForm, from_form, moment, redirect_after
from flex_api.pages.frame import as_model, show
from flex_api.routes import freeze, tokens
from flex_api.routes.tokens import TokensQuery
from flex_api.schemas.rest_bodies import (
    FreezeGiven,
    FreezeShown,
    TokenGiven,
    TokenMade,
    TokensPage,
)
from flex_api.settings import file as config
from flex_api.web.etag_responses import Condition, etag
from flex_api.web.request_context import Admin, Desk, Operator, Viewer

router = APIRouter(include_in_schema=False)

# How the names of settings end whose values are bytes.
SIZES = ("ram", "bytes", "working_set", "max_cold", "max_cold_per_node", "max_body")
# Bytes. A smaller size is shown as the plain number that it is.
MIB = 2**20
# Settings of one table, such as `ingest.aliases`, that are shown one by one among all that the file
# sets. A guess: more of them push all others off the screen.
FEW = 12
# A span of time as JSON has it, by ISO 8601.
SPAN = r"P(?=.)(\d+D)?(T(\d+H)?(\d+M)?([\d.]+S)?)?"


@router.get("/settings", response_class=HTMLResponse)
def page(desk: Viewer) -> Response:
    return _page(desk)


def _page(desk: Desk, new_token: TokenMade | None = None) -> Response:
    """With the secret of a token that was just made: it is shown in this one answer."""
    frozen = as_model(FreezeShown, freeze.freeze(desk))
    known = (
        as_model(TokensPage, tokens.tokens(desk, TokensQuery(limit=1000))).items
        if desk.caller.may("admin")
        else None
    )
    answer = show(
        desk,
        "settings.html",
        "/settings",
        frozen=frozen,
        etag=etag(frozen),
        sections=(sections := _sections(desk.settings)),
        of_the_file=_of_the_file(sections),
        read=config.read_from(desk.settings),
        stale=config.stale(desk.settings),
        tokens=known,
        roles=ROLES,
        made=new_token,
    )
    answer.headers["Cache-Control"] = "no-store"
    return answer


def _sections(settings: config.Settings) -> list[tuple[str, list[tuple[str, str, bool]]]]:
    """By the table of the file that they are in: names, values, and whether the file says them."""
    stated = config.keys_set(settings)
    rows = [
        (name, _value(name, value), name in stated)
        for name, value in config.flat(config.mask_secrets(settings)).items()
    ]
    return [
        (name, list(each))
        for name, each in groupby(rows, lambda row: re.split(r"[.\[]", row[0])[0])
    ]


def _of_the_file(sections: list[tuple[str, list[tuple[str, str, bool]]]]) -> list[tuple[str, str]]:
    """What the file says, a large table of it as one row."""
    given = [(name, value) for _, rows in sections for name, value, stated in rows if stated]
    tables = [(name, list(each)) for name, each in groupby(given, lambda row: _table(row[0]))]
    return [
        row
        for name, rows in tables
        for row in (rows if len(rows) <= FEW else [(name, amounts.count(len(rows), "setting"))])
    ]


def _table(name: str) -> str:
    """Whose own names, with dots in them, do not count."""
    return ".".join(name.split(".")[:2])


def _value(name: str, value: object) -> str:
    """As a person would write it."""
    match value:
        case None | "" | []:
            return "-"
        case bool():
            return "yes" if value else "no"
        case int() if name.endswith(SIZES) and value >= MIB:
            return amounts.memory(value)
        case list():
            return ", ".join(map(str, value))
        case str() if re.fullmatch(SPAN, value):
            return amounts.span(TypeAdapter(timedelta).validate_python(value))
        case _:
            return str(value)


@router.post("/settings/freeze")
def stop(desk: Operator, form: TheForm) -> Response:
    until = moment(form.text("until"), "until")
    wanted = from_form(FreezeGiven, form, **({"until": until} if until else {}))
    freeze.put(desk, wanted, Condition(if_match=form.text("etag")))
    return redirect_after("frozen", "/settings")


@router.post("/settings/thaw")
def go_on(desk: Operator, form: TheForm) -> Response:
    freeze.thaw(desk, Condition(if_match=form.text("etag")), from_form(FreezeGiven, form).reason)
    return redirect_after("thawed", "/settings")


@router.post("/settings/tokens")
def create(desk: Admin, form: TheForm) -> Response:
    """Answered at once and not led on: nothing keeps the secret for a second page."""
    return _page(desk, as_model(TokenMade, tokens.create(desk, from_form(TokenGiven, form))))


@router.post("/settings/tokens/{token}/revoke")
def revoke(desk: Admin, token: str, form: TheForm) -> Response:
    tokens.revoke(desk, token, from_form(FreezeGiven, form).reason)
    return redirect_after("revoked", "/settings")

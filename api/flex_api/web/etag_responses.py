"""Answers with their ETag: one thing, or a page of a list. A change must name the ETag that it was
made from.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from typing import Annotated

from fastapi import Depends, Header, Request, Response
from pydantic import BaseModel
from starlette.exceptions import HTTPException

from flex.errors import Overtaken, Unconditional
from flex_api.schemas.request_and_list_base import PageOf
from flex_api.schemas.site_moves import MovesOutput
from flex_api.web import paging

JSON = "application/json"
# Said of what is answered in several forms: who keeps answers keeps each by what was accepted.
NEGOTIATED = {"Vary": "Accept"}


def etag_of(body: bytes) -> str:
    """Equal bodies have equal tags, whoever asks and whichever process answers."""
    return f'"{hashlib.blake2b(body, digest_size=12).hexdigest()}"'


def etag(model: BaseModel) -> str:
    return etag_of(_bytes(model))


def _bytes(model: BaseModel) -> bytes:
    return model.model_dump_json().encode()


def reply(request: Request, model: BaseModel, status: int = 200, **headers: str) -> Response:
    """The model as JSON with its ETag, or nothing where the caller has it already."""
    body = _bytes(model)
    tag = etag_of(body)
    told = {"ETag": tag, **{name.replace("_", "-"): value for name, value in headers.items()}}
    if request.method in ("GET", "HEAD") and matches(request.headers.get("if-none-match", ""), tag):
        return Response(status_code=304, headers=told)
    return Response(body, status, told, JSON)


def text_response(request: Request, text: str, media: str) -> Response:
    """Text of the kind that was asked for with its ETag, or nothing where the caller has it
    already.
    """
    return made_response(request, etag_of(text.encode()), text.encode, media)


def made_response(request: Request, tag: str, make: Callable[[], bytes], media: str) -> Response:
    """The same of what is only made where the caller has not got it."""
    headers = {"ETag": tag, **NEGOTIATED}
    if request.method in ("GET", "HEAD") and matches(request.headers.get("if-none-match", ""), tag):
        return Response(status_code=304, headers=headers)
    return Response(make(), 200, headers, media)


def accepted_form(request: Request, media: Mapping[str, str], usual: str) -> str:
    """In which of these forms, by name: the first that `Accept` names, the usual one where it takes
    anything. Refuses what there is not.
    """
    named = {
        media_type.partition(";")[0].strip().lower()
        for media_type in request.headers.get("accept", "").split(",")
    } - {""}
    if not named or ("*/*" in named and not named & set(media.values())):
        return usual
    for form, kind in media.items():
        if named & {kind, f"{kind.partition('/')[0]}/*"}:
            return form
    raise HTTPException(406)


def page_response(request: Request, model: PageOf | MovesOutput) -> Response:
    """A page, with the address of the next one in its Link header, and a cursor that holds for
    these filters alone.
    """
    following = model.next
    if not following:
        return reply(request, model)
    if request.url.path.startswith("/api/"):
        following = paging.bind_cursor(following, request.query_params)
        model = model.model_copy(update={"next": following})
    after = request.url.include_query_params(cursor=following)
    return reply(request, model, Link=f'<{after.path}?{after.query}>; rel="next"')


def nothing() -> Response:
    return Response(status_code=204)


def matches(given: str, tag: str) -> bool:
    """Whether a list of tags, or a star, names this one."""
    tags = {listed_tag.strip().removeprefix("W/") for listed_tag in given.split(",")}
    return "*" in tags or tag.removeprefix("W/") in tags


class Condition(BaseModel):
    """What a change says it was made from."""

    if_match: str = ""
    if_none_match: str = ""

    @property
    def is_given(self) -> bool:
        return bool(self.if_match or self.if_none_match)

    def refuse_unmet(self, thing: str, current: BaseModel | None) -> None:
        """Asked in the transaction of the change. Raises Unconditional or Overtaken; what is there
        is left alone.
        """
        if not self.is_given:
            raise _unconditional(thing)
        self.refuse_overtaken(thing, current)

    def refuse_overtaken(self, thing: str, current: BaseModel | None) -> None:
        """For what may be asked without a condition. Raises Overtaken where one was given and does
        not hold.
        """
        if self.if_none_match and (self.if_none_match.strip() != "*" or current is not None):
            raise _overtaken_change(thing, "it is there already")
        if self.if_match and current is None:
            raise _overtaken_change(thing, "it is not there any more")
        if self.if_match and current is not None and not matches(self.if_match, etag(current)):
            raise _overtaken_change(thing, "somebody changed it since")


def _condition(
    if_match: Annotated[
        str | None,
        Header(description="the ETag of what the change was made from; `*` for whatever is there"),
    ] = None,
    if_none_match: Annotated[
        str | None, Header(description="`*` where nothing must be there yet")
    ] = None,
) -> Condition:
    return Condition(if_match=if_match or "", if_none_match=if_none_match or "")


TheCondition = Annotated[Condition, Depends(_condition)]


def _unconditional(thing: str) -> Unconditional:
    return Unconditional(
        f"changing {thing}",
        "the request does not say what it was made from",
        advice="send `If-Match` with the ETag that reading it gave, or "
        "`If-None-Match: *` for a new one",
    )


def _overtaken_change(thing: str, answer: str) -> Overtaken:
    return Overtaken(f"changing {thing}", answer, advice="read it again, then decide again")

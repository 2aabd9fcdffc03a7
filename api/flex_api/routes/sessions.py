"""Sessions of browsers: a person shows a token once, and a cookie stands for it until the session
ends.

The cookie is a token of its own, stored as a hash like every token. No script can read it and no
other site can send it.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated
from urllib.parse import parse_qs

from fastapi import APIRouter, Query, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from starlette.concurrency import run_in_threadpool

from flex.errors import FlexError
from flex.model.audit_chain import Author
from flex.model.roles_and_tokens import Token, digest_of
from flex_api import manage_tokens
from flex_api.manage_tokens import SESSION, Caller
from flex_api.report.page import page
from flex_api.web.caller_identity import COOKIE, AskedOfGate, cookie, forged_error, is_foreign
from flex_api.web.form_body import local
from flex_api.web.request_context import House, TheHouse

router = APIRouter(include_in_schema=False)


@router.get("/login", response_class=HTMLResponse)
async def form(
    following: Annotated[
        str, Query(alias="next", max_length=2000, description="the page to go on to")
    ] = "/",
) -> str:
    return _form(local(following))


def _form(following: str, *, wrong: bool = False) -> str:
    return page(
        "login.html", wrong=wrong, hours=int(SESSION.total_seconds() // 3600), following=following
    )


@router.post("/login")
async def login(request: Request, house: TheHouse) -> Response:
    """A form of our own page, or of nobody's: a foreign page must not sign anybody in."""
    _refuse_foreign(request)
    fields = parse_qs((await request.body()).decode("utf-8", "replace"))
    given = fields.get("token", [""])[0].strip()
    following = local(fields.get("next", ["/"])[0])
    try:
        token, secret = await run_in_threadpool(
            open_session, house, given, request.state.request_id
        )
    except FlexError:
        return HTMLResponse(_form(following, wrong=True), 401)
    answer = RedirectResponse(following, 303)
    secure = request.url.scheme == "https" or request.headers.get("x-forwarded-proto") == "https"
    age = int((token.expires - token.created).total_seconds()) if token.expires else None
    answer.set_cookie(COOKIE, secret, max_age=age, httponly=True, samesite="strict", secure=secure)
    return answer


@router.post("/logout")
async def logout(request: Request, house: TheHouse) -> Response:
    _refuse_foreign(request)
    await run_in_threadpool(
        _close, house, cookie(request.headers.get("cookie", "")), request.state.request_id
    )
    answer = RedirectResponse("/login", 303)
    answer.delete_cookie(COOKIE)
    return answer


def open_session(house: House, secret: str, request_id: str) -> tuple[Token, str]:
    """A session that ends no later than its token. Raises Unauthenticated for a token that opens
    nothing.
    """
    now = datetime.now(UTC)
    caller = house.gate.caller(AskedOfGate("GET", "", {"authorization": f"Bearer {secret}"}), now)
    assert caller is not None, "a token was given"
    store = house.store.in_the_name_of(Author(caller.name, "", request_id))
    name = caller.name.removeprefix("token:")
    parent = store.token(caller.token)
    ends = min(now + SESSION, parent.expires) if parent and parent.expires else now + SESSION
    return manage_tokens.create(store, caller, name, caller.role, now, ends, parent=caller.token)


def _close(house: House, secret: str, request_id: str) -> None:
    token = house.store.token_of(digest_of(secret))
    if token and token.parent:
        author = Author(Caller(f"token:{token.name}", token.role).name, "", request_id)
        house.store.in_the_name_of(author).revoke_token(token.id, datetime.now(UTC))
        house.gate.forget()


def _refuse_foreign(request: Request) -> None:
    if is_foreign(request.headers):
        raise forged_error("it came from another site's page")

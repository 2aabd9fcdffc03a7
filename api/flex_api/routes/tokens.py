"""Tokens: shown once, listed without their secrets, revoked for good."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import APIRouter, Query, Response

from flex.model.roles_and_tokens import Role
from flex_api import manage_tokens
from flex_api.schemas.request_and_list_base import CLEAN, ListQuery
from flex_api.schemas.rest_bodies import TokenGiven, TokenMade, TokensPage
from flex_api.schemas.tokens_and_audit import TokenRow, token_row
from flex_api.web.etag_responses import nothing, page_response, reply
from flex_api.web.paging import page
from flex_api.web.request_context import Admin

router = APIRouter(prefix="/api/v1/tokens", tags=["tokens"])


class TokensQuery(ListQuery):
    sort: Literal[
        "name", "-name", "-created", "created", "-last_used", "last_used", "role", "-role"
    ] = "name"
    role: Annotated[Role | None, Query()] = None
    revoked: Annotated[bool | None, Query()] = None


@router.get("", response_model=TokensPage)
def tokens(desk: Admin, query: Annotated[TokensQuery, Query()]) -> Response:
    """Every token that was made, also those that open nothing any more."""
    rows = [
        token
        for token in desk.store.tokens()
        if not token.parent
        and query.role in (None, token.role)
        and query.revoked in (None, token.revoked is not None)
    ]
    rows_page = page(
        rows,
        {
            "name": lambda token: token.name,
            "role": lambda token: token.role,
            "created": lambda token: token.created.isoformat(),
            "last_used": lambda token: token.last_used and token.last_used.isoformat(),
        },
        lambda token: token.id,
        query,
    )
    return page_response(
        desk.request, TokensPage(items=list(map(token_row, rows_page.items)), next=rows_page.next)
    )


@router.post("", status_code=201, response_model=TokenMade)
def create(desk: Admin, given: TokenGiven) -> Response:
    """A new token. Its secret is in this answer and nowhere else; no role above one's own can be
    given.
    """
    desk = desk.because(given.reason)
    token, secret = manage_tokens.create(
        desk.store, desk.caller, given.name, given.role, desk.now, given.expires
    )
    created = TokenMade(**token_row(token).model_dump(), secret=secret)
    headers = {"Location": f"/api/v1/tokens/{token.id}", "Cache_Control": "no-store"}
    return reply(desk.request, created, 201, **headers)


@router.get("/{token}", response_model=TokenRow)
def token(desk: Admin, token: str) -> Response:
    """One token, without its secret."""
    return reply(desk.request, token_row(manage_tokens.find(desk.store, token)))


@router.delete("/{token}", status_code=204)
def revoke(
    desk: Admin, token: str, reason: Annotated[str, Query(max_length=1000, pattern=CLEAN)] = ""
) -> Response:
    """It opens nothing any more, nor do sessions that were opened with it."""
    desk = desk.because(reason)
    manage_tokens.revoke(desk.store, desk.caller, token, desk.now)
    desk.house.gate.forget()
    return nothing()

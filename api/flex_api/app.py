"""The web application: pages for people, JSON for programs, both read-only.

In go the settings and a store; out comes an application for any ASGI server. Nothing here writes to the store, talks to
a name server or asks who is there: it belongs on a loopback address, or behind something that does ask.
"""

from __future__ import annotations

import re
import uuid

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.datastructures import MutableHeaders
from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

import flex
from flex.errors import FlexError
from flex.ports import Store
from flex_api.routes import health, nodes, overview, plans, problems, sites
from flex_api.settings import Settings

HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; style-src 'unsafe-inline'; img-src 'self' data:; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    # What a plan says changes every night, and a page from yesterday must not look like today's.
    "Cache-Control": "no-store",
}
REQUEST_ID = "X-Request-Id"


def create_app(settings: Settings, store: Store) -> FastAPI:
    app = FastAPI(
        title="FLEX",
        version=flex.__version__,
        description="What FLEX planned, why, and what became of it. Read-only.",
        openapi_url="/api/openapi.json",
        # The framework's own pages load scripts from elsewhere, which the content security policy forbids.
        docs_url=None,
        redoc_url=None,
    )
    app.state.settings, app.state.store = settings, store
    for resource in (overview, plans, sites, nodes, health, problems):
        app.include_router(resource.router)
    _answer_problems(app)
    app.add_middleware(Envelope)
    return app


def _answer_problems(app: FastAPI) -> None:
    @app.exception_handler(FlexError)
    def refused(request: Request, error: FlexError) -> Response:
        return problems.of_error(request, error)

    @app.exception_handler(RequestValidationError)
    def malformed(request: Request, error: RequestValidationError) -> Response:
        return problems.of_bad_request(request, error)

    @app.exception_handler(HTTPException)
    def unrouted(request: Request, error: HTTPException) -> Response:
        return problems.of_status(request, error)

    @app.exception_handler(Exception)
    def fault(request: Request, error: Exception) -> Response:
        """Answered outside of every middleware, so the envelope is put on here."""
        answer = problems.of_fault(request, error)
        _seal(answer.headers, request.state.request_id)
        return answer


class Envelope:
    """Puts the security headers and the request's id on every answer."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        request = Request(scope)
        request.state.request_id = _request_id(request)

        async def sealed(message: Message) -> None:
            if message["type"] == "http.response.start":
                _seal(MutableHeaders(scope=message), request.state.request_id)
            await send(message)

        await self.app(scope, receive, sealed)


def _request_id(request: Request) -> str:
    """The caller's own where it is fit for a log line, else a new one."""
    given = request.headers.get(REQUEST_ID, "")
    return given if re.fullmatch(r"[A-Za-z0-9._-]{1,64}", given) else uuid.uuid4().hex


def _seal(headers: MutableHeaders, request_id: str) -> None:
    headers.update(HEADERS)
    headers[REQUEST_ID] = request_id

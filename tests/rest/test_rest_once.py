"""What is kept of answers to requests with an Idempotency-Key: all of a small one, of a large one
that it was given.
"""

from __future__ import annotations

import asyncio

import pytest
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Message, Receive, Scope, Send

from flex.errors import FlexError
from flex.store import MemoryStore
from flex_api.manage_tokens import Caller
from flex_api.routes import problems
from flex_api.web.idempotency import LARGEST, OnceOnly


class Route:
    """Answers in pieces, and counts how often it is asked."""

    def __init__(self, size: int, pieces: int = 4) -> None:
        self.asked, self.size, self.pieces = 0, size, pieces

    async def __call__(self, _scope: Scope, _receive: Receive, send: Send) -> None:
        self.asked += 1
        await send(
            {"type": "http.response.start", "status": 201, "headers": [(b"location", b"/made")]}
        )
        for number in range(self.pieces):
            more = number < self.pieces - 1
            await send(
                {
                    "type": "http.response.body",
                    "body": b"x" * (self.size // self.pieces),
                    "more_body": more,
                }
            )


def post(layer: OnceOnly) -> tuple[int, bytes]:
    said: list[Message] = []

    async def receive() -> Message:
        return {"type": "http.request", "body": b"{}", "more_body": False}

    async def send(message: Message) -> None:
        said.append(message)

    scope: Scope = {
        "type": "http",
        "method": "POST",
        "path": "/api/v1/made",
        "query_string": b"",
        "scheme": "http",
        "server": ("test", 80),
        "headers": [(b"idempotency-key", b"k")],
        "state": {"caller": Caller("anna", "operator"), "request_id": "r"},
    }
    asyncio.run(layer(scope, receive, send))
    return said[0]["status"], b"".join(message.get("body", b"") for message in said[1:])


def problem(request: Request, error: FlexError) -> Response:
    return problems.respond_to_error(request, error)


@pytest.mark.parametrize("size", [0, 400, LARGEST])
def test_an_answer_that_came_in_pieces_is_given_again_whole(size: int) -> None:
    route = Route(size)
    layer = OnceOnly(route, MemoryStore(), problem)
    assert post(layer) == post(layer) == (201, b"x" * size)
    assert route.asked == 1


def test_of_a_large_answer_nothing_is_kept_and_it_is_not_done_again() -> None:
    route, store = Route(LARGEST + 4), MemoryStore()
    layer = OnceOnly(route, store, problem)
    assert post(layer) == (201, b"x" * (LARGEST + 4))
    status, body = post(layer)
    assert (status, b"too large to be kept" in body, route.asked) == (422, True, 1)

"""Answers that are given again: only while they are what the route would say, and only to who may
have them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import pytest
from starlette.requests import Request
from starlette.types import Message, Receive, Scope, Send

from flex.model.roles_and_tokens import Role
from flex.model.wish import Pin
from flex.store import Store, migrate, open_store
from flex_api.manage_tokens import Caller
from flex_api.web.etag_responses import text_response
from flex_api.web.response_cache import LARGEST, MOST, TRUST, ResponseCache

if TYPE_CHECKING:
    from tests.rest.conftest import Door

SITES = "/api/v1/sites"


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> str:
    made = f"sqlite:///{tmp_path_factory.mktemp('kept')}/flex.db"
    migrate.upgrade(made)
    return made


class Asked:
    """A route behind the layer, which counts how often it is asked, and the time as it goes."""

    def __init__(self, store: Store) -> None:
        self.count, self.moment, self.text = 0, 0.0, "text"
        self.layer = ResponseCache(self._route, store, lambda: self.moment)

    async def _route(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.count += 1
        await text_response(Request(scope), self.text, "text/plain")(scope, receive, send)

    def get(
        self,
        path: str = SITES,
        *,
        name: str = "anna",
        role: Role = "viewer",
        query: bytes = b"",
        method: str = "GET",
        **headers: str,
    ) -> tuple[int, bytes]:
        given = [
            (header.replace("_", "-").encode(), value.encode()) for header, value in headers.items()
        ]
        scope = {
            "type": "http",
            "method": method,
            "path": path,
            "query_string": query,
            "headers": given,
        }
        said: list[Message] = []

        async def send(message: Message) -> None:
            said.append(message)

        async def receive() -> Message:
            return {"type": "http.request"}

        asyncio.run(self.layer({**scope, "state": {"caller": Caller(name, role)}}, receive, send))
        return said[0]["status"], said[1]["body"]


@pytest.fixture
def store(url: str) -> Iterator[Store]:
    with open_store(url) as opened:
        yield opened


@pytest.fixture
def asked(store: Store) -> Asked:
    return Asked(store)


def test_while_nobody_writes_a_route_is_asked_once(asked: Asked) -> None:
    assert [asked.get() for _ in range(3)] == [(200, b"text")] * 3
    assert asked.count == 1


def test_after_a_change_by_anybody_it_is_asked_again(asked: Asked, url: str) -> None:
    asked.get()
    with open_store(url) as other:
        other.put_pin(Pin("a.example.org", ("n1",)))
    asked.get()
    assert asked.count == 2


def test_what_time_alone_changes_is_late_by_no_more_than_is_said(asked: Asked) -> None:
    asked.get()
    asked.moment = TRUST
    asked.get()
    assert asked.count == 2


@pytest.mark.parametrize(
    "other",
    [
        lambda asked: asked.get(role="admin"),
        lambda asked: asked.get(name="token:node@n1"),
        lambda asked: asked.get(query=b"limit=2"),
        lambda asked: asked.get(f"{SITES}/a.example.org"),
        lambda asked: asked.get(accept="text/markdown"),
    ],
)
def test_nobody_gets_what_somebody_else_asked_for(
    asked: Asked, other: Callable[[Asked], object]
) -> None:
    asked.get()
    other(asked)
    assert asked.count == 2


@pytest.mark.parametrize(
    "path", ["/api/v1/tokens", "/api/v1/dns/drift", "/api/v1/jobs/j1/events", "/metrics", "/"]
)
def test_what_is_not_made_of_the_store_alone_is_asked_for_each_time(
    asked: Asked, path: str
) -> None:
    assert [asked.get(path)[0] for _ in range(2)] == [200, 200]
    assert asked.count == 2


def test_only_what_is_read_is_kept(asked: Asked) -> None:
    for method in ("HEAD", "PUT", "GET", "DELETE", "GET"):
        asked.get(method=method)
    assert asked.count == 4


def test_who_has_it_already_is_told_so(asked: Asked) -> None:
    asked.get()
    assert asked.get(if_none_match="*") == (304, b"")
    assert asked.get(if_none_match='"other"') == (200, b"text")
    assert asked.count == 1


def test_what_is_remembered_stays_small(asked: Asked) -> None:
    for number in range(MOST + 5):
        asked.get(query=b"%d" % number)
    assert len(asked.layer.answers) == MOST
    asked.text = "x" * (LARGEST + 1)
    asked.get(query=b"large")
    assert len(asked.layer.answers) == MOST
    asked.get(query=b"4")
    asked.get(query=b"%d" % (MOST + 4))
    assert asked.count == MOST + 7


def test_an_answer_that_is_given_again_is_the_same_but_for_its_own_id(
    filled: Callable[[str], Door], url: str
) -> None:
    client = filled(url).open("viewer")
    first, second = (
        client.get(SITES, params={"limit": 5}, headers={"X-Request-Id": name})
        for name in ("a", "b")
    )
    assert first.content == second.content
    assert {**first.headers, "x-request-id": "b"} == dict(second.headers)
    again = client.get(SITES, params={"limit": 5}, headers={"If-None-Match": first.headers["etag"]})
    assert (again.status_code, again.content, again.headers["link"]) == (
        304,
        b"",
        first.headers["link"],
    )


def test_an_answer_that_comes_in_pieces_is_asked_for_each_time(asked: Asked) -> None:
    async def in_pieces(_scope: Scope, _receive: Receive, send: Send) -> None:
        asked.count += 1
        await send({"type": "http.response.start", "status": 200, "headers": [(b"etag", b'"1"')]})
        await send({"type": "http.response.body", "body": b"begin", "more_body": True})
        await send({"type": "http.response.body", "body": b"end"})

    asked.layer.app = in_pieces
    asked.get()
    asked.get()
    assert asked.count == 2

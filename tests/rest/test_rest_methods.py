"""What HTTP itself promises of every address: which methods it takes, and that HEAD is GET without
the body.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.rest.conftest import Door


@pytest.fixture(scope="module")
def door(doors: Callable[[], Door]) -> Door:
    return doors()


@pytest.mark.parametrize(
    ("address", "allowed"),
    [
        ("/api/v1/sites", "GET, HEAD"),
        ("/api/v1/nodes", "GET, HEAD, POST"),
        ("/api/v1/nodes/n1", "DELETE, GET, HEAD, PATCH"),
        ("/api/v1/nodes/n1/drain", "DELETE, PUT"),
        ("/api/v1/rollbacks", "POST"),
        ("/plans", "GET, HEAD, POST"),
        ("/livez", "GET, HEAD"),
    ],
)
def test_a_method_that_is_none_here_is_told_those_that_are(
    door: Door, address: str, allowed: str
) -> None:
    answer = door.open("admin").options(address)
    assert (answer.status_code, answer.headers["allow"]) == (405, allowed)


@pytest.mark.slow("/api/openapi.json")
@pytest.mark.parametrize(
    "address", ["/api/v1/sites", "/api/v1/nodes/n1", "/plans", "/livez", "/api/openapi.json"]
)
def test_head_is_get_without_the_body(door: Door, address: str) -> None:
    client = door.open("viewer")
    got, head = client.get(address), client.head(address)
    assert (head.status_code, head.content) == (got.status_code, b"") == (200, b"")
    for name in ("content-length", "content-type", "etag"):
        assert head.headers.get(name) == got.headers.get(name), name


def test_head_needs_what_get_needs_and_finds_what_get_finds(door: Door) -> None:
    assert door.open().head("/api/v1/sites").status_code == 401
    assert door.open("viewer").head("/api/v1/plans/none").status_code == 404
    assert door.open("operator").head("/api/v1/rollbacks").status_code == 405

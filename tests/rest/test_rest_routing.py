"""Nodes fetch what their HAProxy is to do, and hear nothing while nothing changes."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.rest.conftest import Door

FILES = "/api/v1/routing/nodes/n1"


def test_a_node_fetches_its_files_and_then_nothing_while_they_are_the_same(door: Door) -> None:
    node = door.open("viewer")
    first = node.get(FILES)
    assert first.status_code == 200
    assert set(first.json()["files"]) == {"haproxy.cfg", "hosts.map"}
    again = node.get(FILES, headers={"If-None-Match": first.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")


def test_each_node_has_files_of_its_own(door: Door) -> None:
    one, other = (door.open("viewer").get(f"/api/v1/routing/nodes/{node}").json() for node in ("n1", "n2"))
    assert "localpeer n1" in one["files"]["haproxy.cfg"]
    assert "localpeer n2" in other["files"]["haproxy.cfg"]


def test_a_node_that_is_not_there_has_none(door: Door) -> None:
    answer = door.open("viewer").get("/api/v1/routing/nodes/n9")
    assert (answer.status_code, answer.json()["code"]) == (404, "not-found")


def test_who_shows_no_token_gets_nothing(door: Door) -> None:
    assert door.open(None).get(FILES).status_code == 401


def test_the_sites_that_are_routed_are_listed(door: Door) -> None:
    answer = door.open("viewer").get("/api/v1/routing").json()
    assert answer["on"] is False
    assert all(len(row["members"]) > 1 for row in answer["items"])

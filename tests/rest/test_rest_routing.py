"""Nodes fetch what their HAProxy is to do, and hear nothing while nothing changes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from flex.model.drains_and_freezes import NodeOrder
from flex.routing import haproxy
from flex.routing.haproxy_state import Distributor, Live, MemberLive, TargetLive
from flex_api.night import ask_every_haproxy
from flex_api.night.ask_every_haproxy import HaproxyAnswer
from tests.rest.conftest import NOW, SITES, plan

if TYPE_CHECKING:
    from starlette.testclient import TestClient

    from tests.rest.conftest import Door

FILES = "/api/v1/routing/nodes/n1"


def test_a_node_fetches_its_files_and_then_nothing_while_they_are_the_same(door: Door) -> None:
    node = door.open("viewer")
    first = node.get(FILES)
    assert first.status_code == 200
    assert set(first.json()["files"]) == {"haproxy.cfg", "hosts.map", "popular.map"}
    again = node.get(FILES, headers={"If-None-Match": first.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")


def test_each_node_has_files_of_its_own(door: Door) -> None:
    one, other = (
        door.open("viewer").get(f"/api/v1/routing/nodes/{node}").json() for node in ("n1", "n2")
    )
    assert "localpeer n1" in one["files"]["haproxy.cfg"]
    assert "localpeer n2" in other["files"]["haproxy.cfg"]


def test_a_node_that_is_not_there_has_none(door: Door) -> None:
    answer = door.open("viewer").get("/api/v1/routing/nodes/n9")
    assert (answer.status_code, answer.json()["code"]) == (404, "not-found")


def test_who_shows_no_token_gets_nothing(door: Door) -> None:
    assert door.open(None).get(FILES).status_code == 401


def of_node(door: Door, node: str) -> TestClient:
    """A client with a token made for one node, as an admin makes it."""
    made = door.open("admin").post(
        "/api/v1/tokens", json={"name": f"node@{node}", "role": "viewer"}
    )
    assert made.status_code == 201, made.text
    client = door.open(None)
    client.headers["Authorization"] = f"Bearer {made.json()['secret']}"
    return client


@pytest.mark.slow("stamped")
@pytest.mark.parametrize("kind", ["door", "stamped"])
def test_a_nodes_own_token_opens_its_files_and_nothing_else(
    kind: str, request: pytest.FixtureRequest
) -> None:
    """Nor what somebody else was answered a moment ago."""
    door: Door = request.getfixturevalue(kind)
    node, viewer = of_node(door, "n1"), door.open("viewer")
    assert node.get(FILES).status_code == 200
    ours = ("/api/v1/routing/nodes/n2", "/api/v1/routing", "/metrics", "/", "/api/v1/tokens")
    stored = ("sites", "nodes", "plans", "partitions", "pins", "runs", "audit", "jobs", "freeze")
    for other in (*ours, *(f"/api/v1/{name}" for name in stored)):
        assert viewer.get(other).status_code == (403 if "tokens" in other else 200), other
        answer = node.get(other)
        assert answer.status_code == 403, other
        assert "n1 alone" in answer.text
    assert node.post("/api/v1/tokens", json={"name": "more", "role": "viewer"}).status_code == 403


def test_a_token_for_a_node_that_is_not_there_opens_nothing(door: Door) -> None:
    assert of_node(door, "n9").get("/api/v1/routing/nodes/n9").status_code == 404


def test_each_nodes_version_is_told_and_why_its_haproxy_was_not_heard(
    doors: Callable[..., Door],
) -> None:
    door = doors(routing={"on": True, "socket": "/nowhere/s", "sockets": "/nowhere/{node}.sock"})
    rows = door.open("viewer").get("/api/v1/routing?live=true").json()["nodes"]
    assert [row["node"] for row in rows] == ["n1", "n2", "n3"]
    assert len({row["wanted"] for row in rows}) == 3
    assert all("/nowhere/" in row["error"] for row in rows)
    metrics = door.open("viewer").get("/metrics").text
    assert 'flex_route_distributor_up{distributor="n1"} 0' in metrics


def test_what_distributors_say_is_told_and_measured() -> None:
    member, busy = (MemberLive("n2", "UP", 5, 1, 99, 8), TargetLive("/hot", ("n1", "n2"), 1_000, 7))
    shop = Live("shop.example", 12, 3, 7, 2, (member,), (busy,))
    heard = [
        HaproxyAnswer("n1", Distributor("n1", "ab12", (shop,))),
        HaproxyAnswer("n2", None, "no such file"),
    ]
    (row,) = ask_every_haproxy.as_live(heard)
    assert (row.distributor, row.members[0].under_way, row.busiest[0].nodes) == (
        "n1",
        5,
        ["n1", "n2"],
    )
    versions = ask_every_haproxy.as_versions({"n1": "cd34", "n2": "ef56"}, {"n1": "cd34"}, heard)
    assert [(each.wanted, each.delivered, each.in_force, each.error) for each in versions] == [
        ("cd34", "cd34", "ab12", ""),
        ("ef56", "", "", "no such file"),
    ]
    site = {"distributor": "n1", "site": "shop.example"}
    told = {
        each.name.removeprefix("flex_route_"): list(each.values)
        for each in ask_every_haproxy.series(heard)
    }
    assert told["distributor_up"] == [({"distributor": "n1"}, 1), ({"distributor": "n2"}, 0)]
    assert told["overloaded_total"] == [(site, 7)]
    assert told["shared_targets"] == [(site, 3)]
    assert told["under_way"] == [({**site, "member": "n2"}, 5)]


def members(client: TestClient, site: str) -> dict[str, str]:
    """By node of the site the name that its HAProxies have for it."""
    rows = client.get("/api/v1/routing", params={"name": site}).json()["items"]
    return {member["node"]: member["server"] for row in rows for member in row["members"]}


def worked_out(door: Door) -> list[object]:
    """What is kept of the answers before."""
    return [
        one.value
        for name, one in door.app.state.house.views.held.items()
        if name.startswith("routed ")
    ]


def test_what_is_routed_is_worked_out_once_for_all_pages(door: Door) -> None:
    client = door.open("viewer")
    first = client.get("/api/v1/routing?limit=1")
    (made,) = worked_out(door)
    following = client.get(first.links["next"]["url"])
    assert [row["site"][:4] for row in first.json()["items"] + following.json()["items"]] == [
        "s037",
        "s038",
    ]
    assert [one is made for one in worked_out(door)] == [True]


def test_what_is_routed_follows_slots_nodes_and_plans(door: Door) -> None:
    client, site = door.open("viewer"), SITES[-1]
    first = members(client, site)
    assert door.store.put_slots(site, dict.fromkeys(first, 7) | {min(first): 9}, {})
    assert members(client, site) == dict.fromkeys(first, "s128") | {min(first): "s512"}
    door.store.order_node(NodeOrder(min(first), "down", NOW))
    assert members(client, site) == {}
    door.store.order_node(NodeOrder(min(first), "active", NOW))
    assert set(members(client, site)) == set(first)
    alone = plan(9, "proposed", door.store.in_force())
    rows = door.store.placement()[1]
    kept = rows[~((rows["site"] == site) & (rows["node"] == min(first)))].reset_index(drop=True)
    door.store.propose(alone, kept)
    assert (
        client.get("/api/v1/routing", params={"plan": alone.id, "name": site}).json()["items"] != []
    )
    door.store.settle(replace(alone, state="applied", settled=NOW - timedelta(days=2)), kept)
    assert members(client, site) == {}


def test_what_a_node_fetches_is_the_version_that_the_list_wants(door: Door) -> None:
    client = door.open("viewer")
    for _ in range(2):
        made = {
            node: client.get(f"/api/v1/routing/nodes/{node}").json()["files"]
            for node in ("n1", "n2", "n3")
        }
        wanted = {
            row["node"]: row["wanted"] for row in client.get("/api/v1/routing").json()["nodes"]
        }
        assert {node: haproxy.version(files) for node, files in made.items()} == wanted
        # From here on one of the nodes has another slot.
        site = SITES[-1]
        given = door.store.slots()[site]
        assert door.store.put_slots(site, {**given, min(given): 12}, given)


def test_the_sites_that_are_routed_are_listed(door: Door) -> None:
    answer = door.open("viewer").get("/api/v1/routing").json()
    assert answer["on"] is False
    assert [row["site"][:4] for row in answer["items"]] == ["s037", "s038", "s039"]
    assert all(len(row["members"]) > 1 for row in answer["items"])

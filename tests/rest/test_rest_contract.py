"""What every route of the API promises, whichever it is: a new one is held to it by being there."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from fastapi.routing import APIRoute

from flex.model.roles_and_tokens import ROLES, Role
from flex.model.zone_plan import Change, Rrset, ZonePlan
from flex.store import MemoryStore
from flex_api.app import ROUTES
from tests.made_up_moves import fill_with_moves
from tests.rest.conftest import NOW

if TYPE_CHECKING:
    from tests.rest.conftest import Door


@pytest.fixture(scope="module")
def door(doors: Callable[[], Door]) -> Door:
    """One for all: what is asked here changes nothing. Its last plan changes DNS."""
    made = doors()
    last, moved = (
        made.store.headlines()[0],
        Change(address("b", "192.0.2.1"), address("b", "192.0.2.2")),
    )
    plans = (
        ZonePlan(
            "example.net.", (Change(None, address("d", "192.0.2.1")),), foreign=("c.example.org.",)
        ),
        ZonePlan(
            "example.org.",
            (Change(None, address("a", "192.0.2.1")), moved),
            foreign=("e.example.org.",),
        ),
    )
    base = made.store.plan(made.store.in_force())
    waiting = replace(
        base, id=f"{last.id[:-1]}f", state="proposed", settled=None, base=base.id, zone_plans=plans
    )
    made.store.propose(
        replace(waiting, created=last.created + timedelta(seconds=1)), made.store.placement()[1]
    )
    sites = sorted(set(made.store.placement()[1]["site"]))
    fill_with_moves(made.store, sites, made.store.in_force(), NOW)
    return made


def address(name: str, value: str) -> Rrset:
    return Rrset(f"{name}.example.org.", "A", 60, (value,))


PLACES = {
    "site": "s001.example.org",
    "node": "n1",
    "job": "j1",
    "token": "unknown",
    "campaign": "launch",
}


def routes() -> list[APIRoute]:
    every = [route for resource in ROUTES for route in resource.router.routes]
    return [
        route for route in every if isinstance(route, APIRoute) and route.path.startswith("/api/v1")
    ]


def method(route: APIRoute) -> str:
    return min(route.methods or ())


def named(route: APIRoute) -> str:
    return f"{method(route)} {route.path}"


def needed(route: APIRoute) -> Role:
    return next(
        role for one in route.dependant.dependencies if (role := getattr(one.call, "role", None))
    )


# Routes that take another role than most.
TAKES: dict[str, Role] = {
    "GET /api/v1/doctor": "operator",
    "GET /api/v1/tokens": "admin",
    "GET /api/v1/tokens/{token}": "admin",
    "POST /api/v1/tokens": "admin",
    "DELETE /api/v1/tokens/{token}": "admin",
    "POST /api/v1/nodes": "admin",
    "PATCH /api/v1/nodes/{node}": "admin",
    "DELETE /api/v1/nodes/{node}": "admin",
    "POST /api/v1/dns/takeovers": "admin",
    "PUT /api/v1/nodes/{node}/down": "approver",
    "POST /api/v1/plans/{plan}/approval": "approver",
    "POST /api/v1/plans/{plan}/apply": "approver",
    "POST /api/v1/recoveries": "approver",
    # What a node says of itself.
    "POST /api/v1/routing/nodes/{node}/strays": "viewer",
    "POST /api/v1/routing/nodes/{node}/answers": "viewer",
}


def usual(route: APIRoute) -> Role:
    return "viewer" if method(route) == "GET" else "operator"


def for_node_alone(route: APIRoute) -> bool:
    calls = [one.call for one in route.dependant.dependencies]
    return any(getattr(call, "node_alone", False) for call in calls)


def lists() -> list[APIRoute]:
    return [
        route
        for route in routes()
        if hasattr(route.response_model, "model_fields")
        and "next" in route.response_model.model_fields
    ]


def writing() -> list[APIRoute]:
    return [route for route in routes() if method(route) not in ("GET", "HEAD")]


def path(door: Door, route: APIRoute) -> str:
    plans = [one.id for one in door.store.headlines()]
    return route.path.format(**PLACES, plan=plans[0], partition=plans[-1])


@pytest.mark.parametrize("route", routes(), ids=named)
def test_nobody_comes_in_without_a_token(door: Door, route: APIRoute) -> None:
    for shown in ("", "Bearer flex_" + "0" * 64, "Basic YTpi"):
        headers = {"Authorization": shown} if shown else {}
        answer = door.open().request(method(route), path(door, route), json={}, headers=headers)
        assert (answer.status_code, answer.json()["code"]) == (401, "unauthenticated")
        assert answer.headers["www-authenticate"] == "Bearer"


@pytest.mark.parametrize("route", routes(), ids=named)
def test_who_may_less_than_a_route_needs_is_refused_and_changes_nothing(
    door: Door, route: APIRoute
) -> None:
    noted, takes = door.store.last_number(), TAKES.get(named(route), usual(route))
    assert needed(route) == takes
    for role in ROLES[: ROLES.index(takes)]:
        answer = door.open(role).request(method(route), path(door, route), json={})
        assert answer.status_code == 403, answer.text
        assert takes in answer.json()["detail"]
    assert door.store.last_number() == noted


@pytest.mark.parametrize("route", routes(), ids=named)
def test_a_parameter_that_nobody_knows_is_refused_and_changes_nothing(
    door: Door, route: APIRoute
) -> None:
    noted = door.store.last_number()
    for name in ("no_such_parameter", ""):
        answer = door.open("admin").request(method(route), f"{path(door, route)}?{name}=1", json={})
        assert (answer.status_code, answer.json()["code"]) == (422, "validation"), answer.text
    assert door.store.last_number() == noted


@pytest.mark.parametrize("route", [one for one in writing() if not for_node_alone(one)], ids=named)
def test_what_changes_something_takes_more_than_a_viewer(route: APIRoute) -> None:
    assert needed(route) != "viewer"


@pytest.mark.parametrize("route", [one for one in routes() if for_node_alone(one)], ids=named)
def test_what_is_for_a_node_alone_no_person_may_do(door: Door, route: APIRoute) -> None:
    for role in ROLES:
        answer = door.open(role).request(method(route), path(door, route), json={})
        assert answer.status_code == 403, answer.text


def orders(route: APIRoute) -> list[str]:
    model: Any = route.dependant.query_params[0].field_info.annotation
    return list(model.model_fields["sort"].annotation.__args__)


def read(door: Door, address: str, query: Mapping[str, str]) -> list[Mapping[str, Any]]:
    """Every page, two rows at a time, by the links that lead on."""
    client, found = door.open("admin"), []
    answer = client.get(address, params={"limit": "2", **query})
    while True:
        assert answer.status_code == 200, answer.text
        found += answer.json()["items"]
        assert ("next" in answer.links) == (answer.json()["next"] is not None)
        if "next" not in answer.links:
            return found
        answer = client.get(answer.links["next"]["url"])


@pytest.mark.slow("GET /api/v1/dns/records", "GET /api/v1/sites")
@pytest.mark.parametrize("route", lists(), ids=named)
def test_a_list_shows_each_row_once_whatever_it_is_sorted_by(door: Door, route: APIRoute) -> None:
    whole = door.open("admin").get(path(door, route), params={"limit": 1000}).json()["items"]
    assert len(whole) > 1, "a list of one row shows nothing"
    keys = sorted(map(str, whole))
    for sort in orders(route):
        assert sorted(map(str, read(door, path(door, route), {"sort": sort}))) == keys, sort


@pytest.mark.parametrize("route", lists(), ids=named)
def test_a_list_goes_by_what_it_is_sorted_by(door: Door, route: APIRoute) -> None:
    for sort in orders(route):
        name = sort.removeprefix("-")
        rows = (
            door.open("admin")
            .get(path(door, route), params={"limit": 1000, "sort": sort})
            .json()["items"]
        )
        if rows and name in rows[0]:
            values = [row[name] for row in rows if row[name] is not None]
            assert values == sorted(values, reverse=sort.startswith("-")), sort


@pytest.mark.parametrize("route", lists(), ids=named)
def test_a_list_has_filters_and_refuses_what_it_does_not_know(door: Door, route: APIRoute) -> None:
    model: Any = route.dependant.query_params[0].field_info.annotation
    assert set(model.model_fields) - {"limit", "cursor", "sort"}, "nothing to filter by"
    for bad in (
        {"no_such_filter": 1},
        {"limit": 0},
        {"limit": 1001},
        {"sort": "nothing"},
        {"cursor": "bm90IG91cnM"},
    ):
        answer = door.open("admin").get(path(door, route), params=bad)
        assert (answer.status_code, answer.json()["code"]) == (422, "validation"), bad


@pytest.mark.parametrize("route", lists(), ids=named)
def test_a_filter_leaves_every_row_that_fits_and_no_other(door: Door, route: APIRoute) -> None:
    model: Any = route.dependant.query_params[0].field_info.annotation
    client, address = door.open("admin"), path(door, route)
    whole = client.get(address, params={"limit": 1000}).json()["items"]
    for name in set(model.model_fields) & set(whole[0]):
        for value in {row[name] for row in whole if isinstance(row[name], str) and row[name]}:
            found = client.get(address, params={"limit": 1000, name: value}).json()["items"]
            assert found == [row for row in whole if row[name] == value], (name, value)


Row = Mapping[str, Any]
FILTERS: list[tuple[str, dict[str, str], Callable[[Row], bool]]] = [
    ("sites", {"min_access_bytes": "120"}, lambda row: row["access_bytes"] >= 120),
    ("sites", {"name": "s01"}, lambda row: "s01" in row["site"]),
    ("sites", {"node": "n1"}, lambda row: "n1" in row["nodes"]),
    (
        "sites",
        {"node": "n1", "pinned": "true"},
        lambda row: "n1" in row["nodes"] and bool(row["pinned_to"]),
    ),
    ("sites", {"pinned": "false"}, lambda row: not row["pinned_to"]),
    ("sites", {"replicated": "true"}, lambda row: len(row["nodes"]) > 1),
    ("pins", {"node": "n1"}, lambda row: "n1" in row["nodes"]),
    ("plans", {"min_moves": "5"}, lambda row: row["moves"] >= 5),
    ("plans", {"min_moves": "6"}, lambda row: row["moves"] >= 6),
    ("partitions", {"max_worst_ratio": "0.01"}, lambda row: row["worst_ratio"] <= 0.01),
    ("runs", {"failed": "true"}, lambda row: row["exit_code"] != 0),
    ("runs", {"failed": "false"}, lambda row: row["exit_code"] == 0),
    ("audit", {"action": "pin"}, lambda row: row["action"].startswith("pin.")),
    ("audit", {"since": "2100-01-01T00:00:00Z"}, lambda row: row["time"] > "2100"),
    ("pins", {"node": "n9"}, lambda _: False),
    ("pins", {"holds": "true"}, lambda _: True),
    ("pins", {"holds": "false"}, lambda _: False),
    ("nodes", {"state": "active"}, lambda row: row["state"] == "active"),
    ("nodes", {"state": "draining"}, lambda row: row["state"] == "draining"),
    ("partitions/{partition}/placement", {"node": "n2"}, lambda row: row["node"] == "n2"),
    ("plans/{plan}/moves", {"node": "n1"}, lambda row: "n1" in (row["source"], row["target"])),
    ("plans/{plan}/moves", {"node": "n3"}, lambda row: "n3" in (row["source"], row["target"])),
    (
        "moves",
        {"node": "n2", "state": "open"},
        lambda row: row["state"] in ("under way", "ready", "moved", "taking back"),
    ),
    ("moves", {"node": "n3"}, lambda _: False),
    ("dns/records", {"name": "s01"}, lambda row: "s01" in row["name"]),
    ("plans/{plan}/dns-diff", {"name": "b.ex"}, lambda row: "b.ex" in row["name"]),
    ("plans/{plan}/dns-diff", {"zone": "example.net"}, lambda row: row["zone"] == "example.net."),
    (
        "plans/{plan}/dns-diff",
        {"foreign": "true"},
        lambda row: row["foreign"] and not row["changes"],
    ),
    (
        "plans/{plan}/dns-diff",
        {"foreign": "false"},
        lambda row: bool(row["before"] or row["after"]),
    ),
    ("partitions/{partition}/difference", {"name": "s00"}, lambda row: "s00" in row["site"]),
    ("partitions/{partition}/difference", {"name": "s002"}, lambda row: "s002" in row["site"]),
    (
        "partitions/{partition}/difference",
        {"node": "n1"},
        lambda row: "n1" in row["one"] + row["other"],
    ),
    ("routing", {"name": "s039"}, lambda row: "s039" in row["site"]),
    ("routing", {"node": "n1"}, lambda row: "n1" in [member["node"] for member in row["members"]]),
    ("audit", {"since": "2000-01-01T00:00:00Z"}, lambda row: row["time"] > "2000"),
    ("audit", {"until": "2000-01-01T00:00:00Z"}, lambda row: row["time"] < "2000"),
    ("runs", {"live": "true"}, lambda row: row["ended"] is None),
    ("runs", {"live": "false"}, lambda row: row["ended"] is not None),
    ("runs", {"exit_code": "0"}, lambda row: row["exit_code"] == 0),
    ("runs", {"exit_code": "22"}, lambda row: row["exit_code"] == 22),
    ("partitions", {"min_moves": "5"}, lambda row: row["moves"] >= 5),
    ("tokens", {"revoked": "false"}, lambda row: row["revoked"] is None),
    ("tokens", {"revoked": "true"}, lambda row: row["revoked"] is not None),
]


@pytest.mark.parametrize(
    ("name", "query", "fits"), FILTERS, ids=lambda one: str(one) if isinstance(one, dict) else ""
)
def test_a_filter_by_more_than_a_fields_value_does_so_too(
    door: Door, name: str, query: dict[str, str], fits: Callable[[Row], bool]
) -> None:
    client = door.open("admin")
    address = next(path(door, route) for route in lists() if route.path == f"/api/v1/{name}")
    whole = client.get(address, params={"limit": 1000}).json()["items"]
    found = client.get(address, params={"limit": 1000, **query}).json()["items"]
    assert found == [row for row in whole if fits(row)]


def test_periods_are_those_that_reach_between_two_moments(door: Door) -> None:
    client, address = door.open("viewer"), "/api/v1/sites/s001.example.org/profile"
    first, second = client.get(address).json()["items"]
    for query, left in (
        ({"after": first["end"]}, [second]),
        ({"before": second["start"]}, [first]),
        ({"after": first["start"], "before": second["end"]}, [first, second]),
        ({"after": second["end"]}, []),
        ({"before": first["start"]}, []),
    ):
        assert client.get(address, params=query).json()["items"] == left, query


def test_two_partitions_differ_in_what_moved_between_them(door: Door) -> None:
    client, latest = door.open("viewer"), door.store.headlines()[0].id
    first = door.store.headlines()[-1].id
    for other in ("current", latest):
        said = client.get(f"/api/v1/partitions/{first}/difference", params={"to": other}).json()
        assert [(row["site"][:4], row["one"], row["other"]) for row in said["items"]] == [
            ("s000", ["n2"], ["n1"]), ("s001", ["n3"], ["n2"]), ("s002", ["n1"], ["n3"]),
            ("s003", ["n2"], ["n1"]),
        ]  # fmt: skip
        assert said["sites"] == 40
    assert client.get(f"/api/v1/partitions/{latest}/difference").json()["items"] == []


def test_a_plans_changes_in_dns_are_listed_name_by_name(door: Door) -> None:
    said = door.open("viewer").get(f"/api/v1/plans/{door.store.headlines()[0].id}/dns-diff").json()
    told = [(row["name"], row["zone"], row["type"], row["changes"]) for row in said["items"]]
    assert told == [
        ("a.example.org.", "example.org.", "A", ["+ a.example.org. 60 A 192.0.2.1"]),
        (
            "b.example.org.",
            "example.org.",
            "A",
            ["- b.example.org. 60 A 192.0.2.1", "+ b.example.org. 60 A 192.0.2.2"],
        ),
        ("c.example.org.", "example.net.", "", []),
        ("d.example.org.", "example.net.", "A", ["+ d.example.org. 60 A 192.0.2.1"]),
        ("e.example.org.", "example.org.", "", []),
    ]


def test_reports_are_those_of_plans_in_a_state(door: Door) -> None:
    states = {one.id: one.state for one in door.store.headlines()}
    for state in ("applied", "proposed", "failed"):
        rows = door.open("viewer").get("/api/v1/reports", params={"state": state}).json()["items"]
        assert {row["plan"] for row in rows} == {
            plan for plan, has in states.items() if has == state
        }


# Those whose rows do not show what they go by.
BY_THEMSELVES = {
    ("sites/{site}/profile", "after"), ("sites/{site}/profile", "before"), ("reports", "state"),
    ("plans", "base"), ("partitions/{partition}/difference", "to"), ("routing", "plan"),
    ("routing", "live"), ("runs", "figures"),
}  # fmt: skip


TIMES = {
    "plans": "created", "reports": "created", "jobs": "created", "partitions": "settled",
    "runs": "started", "ingests": "read_at", "audit": "time",
}  # fmt: skip


@pytest.mark.parametrize("name", TIMES)
def test_rows_that_have_a_time_are_those_from_a_moment_on_and_before_another(
    door: Door, name: str
) -> None:
    client, address = door.open("admin"), f"/api/v1/{name}"
    whole = client.get(address, params={"limit": 1000}).json()["items"]
    times = sorted({row[TIMES[name]] for row in whole})
    for moment in (times[0], times[-1]):
        since, until = (
            client.get(address, params={"limit": 1000, bound: moment}).json()["items"]
            for bound in ("since", "until")
        )
        assert since == [row for row in whole if row[TIMES[name]] >= moment]
        assert until == [row for row in whole if row[TIMES[name]] < moment]


def test_plans_are_those_that_were_made_from_a_partition(door: Door) -> None:
    client = door.open("viewer")
    for base in {one.base for one in door.store.headlines()}:
        rows = client.get("/api/v1/plans", params={"base": base}).json()["items"]
        assert {row["id"] for row in rows} == {
            one.id for one in door.store.headlines() if one.base == base
        }


@pytest.mark.parametrize("route", lists(), ids=named)
def test_no_filter_goes_without_a_test(door: Door, route: APIRoute) -> None:
    name = route.path.removeprefix("/api/v1/")
    tested = {one for of, query, _ in FILTERS if of == name for one in query}
    tested |= {one for of, one in BY_THEMSELVES if of == name}
    row = door.open("admin").get(path(door, route)).json()["items"][0]
    model: Any = route.dependant.query_params[0].field_info.annotation
    as_they_are = {field for field in row if isinstance(row[field], str)}
    timed = {"since", "until"} if name in TIMES else set()
    assert not set(model.model_fields) - {"limit", "cursor", "sort"} - as_they_are - tested - timed


@pytest.mark.parametrize("route", lists(), ids=named)
def test_a_cursor_of_another_order_is_refused(door: Door, route: APIRoute) -> None:
    one, other = orders(route)[:2]
    first = door.open("admin").get(path(door, route), params={"limit": 1, "sort": one}).json()
    answer = door.open("admin").get(
        path(door, route), params={"sort": other, "cursor": first["next"]}
    )
    assert answer.status_code == 422
    assert one in answer.json()["detail"]


def test_a_cursor_of_a_list_with_other_filters_is_refused(door: Door) -> None:
    client, sites = door.open("viewer"), "/api/v1/sites"
    plain = client.get(sites, params={"limit": 3, "sort": "site"}).json()["next"]
    on_n1 = client.get(sites, params={"limit": 3, "sort": "site", "node": "n1"})
    for cursor, query in (
        (plain, {"node": "n1"}),
        (on_n1.json()["next"], {}),
        (on_n1.json()["next"], {"node": "n2"}),
    ):
        answer = client.get(sites, params={"limit": 3, "sort": "site", "cursor": cursor, **query})
        assert (answer.status_code, "other filters" in answer.text) == (422, True)
    further = client.get(on_n1.links["next"]["url"]).json()["items"]
    assert (
        further
        == client.get(sites, params={"limit": 6, "sort": "site", "node": "n1"}).json()["items"][3:]
    )


@pytest.mark.parametrize("route", lists(), ids=named)
def test_a_list_of_nothing_is_an_empty_page(route: APIRoute, door: Door) -> None:
    empty = type(door)(MemoryStore())
    if "{" in route.path or route.path in ("/api/v1/nodes", "/api/v1/tokens", "/api/v1/audit"):
        return
    answer = empty.open("viewer").get(route.path)
    assert (answer.status_code, answer.json()["items"], answer.json()["next"]) == (200, [], None)


READ_AT_ONCE = [
    route for route in routes() if method(route) == "GET" and route.response_model is not None
]


@pytest.mark.slow("GET /api/v1/nodes/{node}/turn")
@pytest.mark.parametrize("route", READ_AT_ONCE, ids=named)
def test_what_was_read_before_is_not_sent_again(door: Door, route: APIRoute) -> None:
    client = door.open("admin")
    address = path(door, route)
    first = client.get(address)
    if first.headers["content-type"].startswith("text/html"):
        return
    if first.status_code != 200:
        assert first.headers["content-type"] == "application/problem+json"
        return
    again = client.get(address, headers={"If-None-Match": first.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")
    assert again.headers["etag"] == first.headers["etag"]


@pytest.mark.parametrize(
    "route", [one for one in writing() if "{" in one.path and not for_node_alone(one)], ids=named
)
def test_what_is_not_there_cannot_be_changed(door: Door, route: APIRoute) -> None:
    gone = {
        "site": "s.none.example.org",
        "node": "nowhere",
        "job": "never",
        "token": "none",
        "plan": "never",
    }
    missing = route.path.format(**gone, campaign="never")
    body = {"decision": "approve"} if "approval" in route.path else {}
    answer = door.open("admin").request(
        method(route), missing, json=body, headers={"If-Match": "*"}
    )
    assert answer.status_code in (404, 412, 422), answer.text
    assert answer.headers["content-type"] == "application/problem+json"


def test_every_operation_is_described_with_what_it_may_answer(door: Door) -> None:
    document = door.open().get("/api/openapi.json").json()
    for address, operations in document["paths"].items():
        for way, told in operations.items():
            if address.startswith("/api/v1"):
                assert told["security"] == [{"token": []}]
                assert {"401", "403", "422", "429", "503"} <= set(told["responses"]), (way, address)
            assert told.get("description"), (way, address)
    assert "HTTPValidationError" not in str(document)


def test_the_page_about_the_api_loads_nothing_and_names_every_operation(door: Door) -> None:
    answer = door.open().get("/api/docs")
    assert answer.status_code == 200
    assert "<script" not in answer.text
    assert "src=" not in answer.text
    for route in routes():
        assert f"{method(route)} {route.path}" in answer.text

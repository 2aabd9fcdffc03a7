"""Who still comes to nodes without the site is shown wherever an operator looks for it."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest

from flex.model.roles_and_tokens import Role
from flex.model.stray_requests import MOST_READ, Counted, StrayReading
from flex_api.facts.visitors_at_other_nodes import outside_dns
from flex_api.in_words import visitors_text
from flex_api.schemas.strays import StrayRow
from flex_api.wishes import explain_site
from tests.rest.conftest import SITES, settings
from tests.rest.test_rest_routing import of_node

if TYPE_CHECKING:
    from tests.rest.conftest import Door

STRAYS = "/api/v1/routing/nodes/n1/strays"
ROUTING = {"on": True, "doors": "all", "socket": "/none/flex.sock"}
HOUR = timedelta(hours=1)


@pytest.fixture
def all_doors(doors: Callable[..., Door]) -> Door:
    return doors(routing=ROUTING, ingest={"www": "same"})


def counted(name: str, requests: int = 3, quiet: float = 300.0) -> dict[str, Any]:
    return {"name": name, "requests": requests, "quiet": quiet}


def report(*rows: dict[str, Any], **more: Any) -> dict[str, Any]:
    """Any: what a node may say."""
    total = sum(row["requests"] for row in rows)
    return {"uptime": 3_600, "names": len(rows), "requests": total, "counted": rows} | more


def elsewhere(door: Door) -> tuple[str, str]:
    """A site that is on one node, and another node than that."""
    listed = door.open("viewer").get("/api/v1/sites", params={"limit": 100}).json()
    row = next(row for row in listed["items"] if len(row["nodes"]) == 1)
    return row["site"], next(n for n in ("n1", "n2", "n3") if n not in row["nodes"])


def tell(door: Door, node: str, *rows: dict[str, Any], **more: Any) -> None:
    answer = of_node(door, node).post(
        f"/api/v1/routing/nodes/{node}/strays", json=report(*rows, **more)
    )
    assert answer.status_code == 204, answer.text


def test_what_a_node_reports_is_shown_in_lists_pages_explanations_and_metrics(
    all_doors: Door,
) -> None:
    site, node = elsewhere(all_doors)
    tell(all_doors, node, counted(site, 300), counted(f"www.{site}", 12, 60.0))
    viewer = all_doors.open("viewer")
    said = viewer.get("/api/v1/routing").json()
    (row,) = said["strays"]
    assert (row["site"], row["node"], row["requests"]) == (site, node, 312)
    assert said["strays_count"] == 1
    (read,) = said["doors"]
    assert (read["node"], read["names"], read["requests"]) == (node, 2, 312)
    others = [name for name in ("n1", "n2", "n3") if name != node]
    assert said["strays_not_known"] == others
    told = viewer.get(f"/api/v1/sites/{site}/explanation").json()
    assert [one["requests"] for one in told["visitors"]] == [312]
    assert told["visitors"][0]["since"] < told["visitors"][0]["last"]
    metrics = viewer.get("/metrics").text
    for line in (
        f'flex_route_stray_names{{node="{node}"}} 2',
        f'flex_route_stray_requests{{node="{node}"}} 312',
    ):
        assert f"{line}\n" in metrics
    assert site not in "".join(line for line in metrics.splitlines() if "stray" in line)
    page = viewer.get("/routing").text
    section = page[page.index('id="strays"') : page.index('id="live"')]
    assert site in section
    assert ">312<" in section


def test_a_site_that_came_to_the_node_meanwhile_has_no_stray_visitors_there(
    all_doors: Door,
) -> None:
    site, _ = elsewhere(all_doors)
    listed = all_doors.open("viewer").get(f"/api/v1/sites/{site}").json()
    tell(all_doors, listed["nodes"][0], counted(site), counted("gone.example.net"))
    said = all_doors.open("viewer").get("/api/v1/routing").json()
    assert (said["strays"], said["strays_count"]) == ([], 0)
    assert said["doors"][0]["requests"] == 6


def test_a_door_that_counted_more_names_than_are_kept_is_said_to(all_doors: Door) -> None:
    site, node = elsewhere(all_doors)
    for each in ("n1", "n2", "n3"):
        tell(all_doors, each, names=5_000 if each == node else 0)
    told = all_doors.open("viewer").get(f"/api/v1/sites/{site}/explanation").json()
    assert (told["visitors"], told["visitors_not_known"]) == ([], [node])
    page = all_doors.open("viewer").get("/routing").text
    assert "more names than are kept" in page


def test_where_connections_are_passed_on_by_sni_what_doors_told_is_known(
    doors: Callable[..., Door],
) -> None:
    sni = {"listen_sni": [":443"], "origin_tls_port": 8443, "listen_tls": []}
    door = doors(routing=ROUTING | sni)
    for node in ("n1", "n2"):
        tell(door, node)
    said = door.open("viewer").get("/api/v1/routing").json()
    assert said["strays_not_known"] == ["n3"]


def test_lists_grow_with_reports_and_never_past_a_hundred(all_doors: Door) -> None:
    rows = [counted(site, 1 + at) for at, site in enumerate(SITES)]
    viewer = all_doors.open("viewer")
    assert viewer.get("/api/v1/routing").json()["strays_count"] == 0
    for node in ("n1", "n2", "n3"):
        tell(all_doors, node, *rows)
    said = viewer.get("/api/v1/routing").json()
    placed = sum(len(_nodes(all_doors, site)) for site in SITES)
    assert said["strays_count"] == 3 * len(SITES) - placed
    assert len(said["strays"]) == min(said["strays_count"], 100)
    found = [row["requests"] for row in said["strays"]]
    assert found == sorted(found, reverse=True)


def _nodes(door: Door, site: str) -> list[str]:
    nodes: list[str] = door.open("viewer").get(f"/api/v1/sites/{site}").json()["nodes"]
    return nodes


@pytest.mark.parametrize("role", [None, "viewer", "operator", "approver", "admin"])
def test_only_the_node_itself_reports(all_doors: Door, role: Role | None) -> None:
    for client in (all_doors.open(role), of_node(all_doors, "n2")):
        answer = client.post(STRAYS, json=report(counted(SITES[0])))
        assert answer.status_code in (401, 403)
    assert all_doors.store.doors_read() == ()


def test_a_node_that_does_not_serve_reports_nothing(all_doors: Door) -> None:
    answer = of_node(all_doors, "n9").post("/api/v1/routing/nodes/n9/strays", json=report())
    assert answer.status_code == 404
    assert all_doors.store.doors_read() == ()


@pytest.mark.parametrize(
    "given",
    [
        report(counted("")),
        report(counted("x" * 254)),
        report(counted("<b>.example")),
        report(counted("a.example\n")),
        report(counted("ä.example")),
        report(counted("A.example")),
        report(counted("a.example", 0)),
        report(counted("a.example", 10**16)),
        report(counted("a.example", 1, -1.0)),
        report(counted("a.example") | {"more": 1}),
        report(uptime=-1),
        report(uptime=10**12),
        report(names=10**16),
        report(other=1),
        report(*[counted(f"s{one}.example") for one in range(MOST_READ + 1)]),
        {},
        [],
        "x",
    ],
)
def test_what_is_no_report_is_refused_whole(
    all_doors: Door,
    given: Any,  # anything that JSON can say
) -> None:
    answer = of_node(all_doors, "n1").post(STRAYS, json=given)
    assert answer.status_code in (400, 422)
    assert (all_doors.store.doors_read(), all_doors.store.strays()) == ((), ())


def test_numbers_that_json_cannot_say_are_refused(all_doors: Door) -> None:
    text = json.dumps(report(counted("a.example", 1, float("inf"))))
    answer = of_node(all_doors, "n1").post(
        STRAYS, content=text, headers={"Content-Type": "application/json"}
    )
    assert answer.status_code in (400, 422)
    assert all_doors.store.doors_read() == ()


def test_the_longest_report_is_taken(all_doors: Door) -> None:
    name = ".".join(["x" * 60] * 4)[:245]
    rows = [counted(f"s{one:03}.{name}") for one in range(MOST_READ)]
    tell(all_doors, "n1", *rows)
    assert len(all_doors.store.strays()) == MOST_READ


def test_the_same_name_twice_counts_once(all_doors: Door) -> None:
    tell(all_doors, "n1", counted("a.example", 3), counted("a.example", 5))
    assert [one.requests for one in all_doors.store.strays()] == [5]


def test_without_doors_for_all_sites_nothing_is_kept_or_shown(doors: Callable[..., Door]) -> None:
    door = doors(routing={"on": True})
    assert of_node(door, "n1").post(STRAYS, json=report()).status_code == 204
    assert door.store.doors_read() == ()
    door.store.note_strays(
        "n1", StrayReading(9, 1, 1, (Counted(SITES[1], 1, 0),)), datetime.now(UTC)
    )
    said = door.open("viewer").get("/api/v1/routing").json()
    assert (said["strays"], said["doors"], said["outside_dns"]) == ([], [], [])
    assert 'id="strays"' not in door.open("viewer").get("/routing").text


def test_sites_in_no_zone_that_doors_lead_to_are_outside_dns(doors: Callable[..., Door]) -> None:
    told = settings(routing=ROUTING | {"site": [{"name": "b.example", "publish": "dns"}]})
    sites = ["a.example", "b.example", "c.example.org"]
    assert outside_dns(told, sites) == ["a.example"]
    assert outside_dns(settings(routing={"on": True}), sites) == []
    said = doors(routing=ROUTING, dns={"zones": ["other.example"]})
    listed = said.open("viewer").get("/api/v1/routing").json()
    assert listed["outside_dns_count"] == len(SITES)
    assert listed["outside_dns"] == sorted(SITES)
    assert "in no zone of yours" in said.open("viewer").get("/routing").text


def test_the_sentence_says_what_was_counted() -> None:
    now = datetime(2026, 11, 23, 12, tzinfo=UTC)
    row = StrayRow(
        site="a.example",
        node="n1",
        requests=312,
        since=datetime(2026, 11, 20, tzinfo=UTC),
        last=now - timedelta(minutes=5),
    )
    assert visitors_text.sentence(row, now) == (
        "visitors still come to n1, which does not have the site: "
        "312 requests since 2026-11-20, last 5 m 0 s ago"
    )


def test_the_page_of_a_site_says_it(all_doors: Door) -> None:
    site, node = elsewhere(all_doors)
    tell(all_doors, node, counted(site, 312))
    page = all_doors.open("viewer").get("/site", params={"name": site, "part": "why"})
    assert f"isitors still come to {node}, which does not have the site" in page.text
    assert "312 requests since" in page.text


def test_names_of_other_sites_are_not_the_sites(all_doors: Door) -> None:
    site, node = elsewhere(all_doors)
    tell(all_doors, node, counted(f"x.{site}"), counted(f"{site}.example.net"))
    world = all_doors.app.state.house
    told = all_doors.open("viewer").get(f"/api/v1/sites/{site}/explanation").json()
    assert told["visitors"] == []
    assert world.store.strays()
    assert explain_site.VisitorsElsewhere.__annotations__.keys() <= told.keys()

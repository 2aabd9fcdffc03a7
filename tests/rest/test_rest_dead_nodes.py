"""A dead node that is in DNS still is named by the API, the metrics and every page, with what was
tried.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from flex.errors import Unreachable
from flex.model.drains_and_freezes import Freeze, NodeOrder
from flex.model.retry_schedule import Attempt, attempt_after_failure
from flex_api.in_words import dead_nodes_text
from flex_api.night import mail_of_the_night
from flex_api.night.keep_watch_running import Watched
from flex_api.schemas.nodes_and_jobs import DeadRow

if TYPE_CHECKING:
    from tests.rest.conftest import Door

NOW = datetime(2026, 3, 3, 2, 17, tzinfo=UTC)


def tried(door: Door, times: int) -> Attempt:
    door.store.order_node(NodeOrder("n1", "down", NOW))
    found = None
    for _ in range(times):
        found = attempt_after_failure(found, "n1", NOW, "ns1: no answer in time")
    assert found is not None
    door.store.put_attempt(found)
    return found


def test_the_list_of_nodes_says_what_was_tried_and_when_it_is_tried_again(door: Door) -> None:
    client = door.open("viewer")
    assert client.get("/api/v1/nodes").json()["dead"] == []
    found = tried(door, 3)
    (row,) = client.get("/api/v1/nodes", params={"limit": 1}).json()["dead"]
    assert (row["node"], row["attempts"], row["error"]) == ("n1", 3, "ns1: no answer in time")
    assert row["sites"] > 0
    assert datetime.fromisoformat(row["next_attempt"]) == found.again
    door.store.put_attempt(attempt_after_failure(found, "n1", NOW, "ns1: REFUSED"))
    assert client.get("/api/v1/nodes").json()["dead"][0]["error"] == "ns1: REFUSED"


def test_while_changes_are_frozen_no_next_attempt_is_named(door: Door) -> None:
    tried(door, 2)
    door.store.put_freeze(Freeze(NOW + timedelta(minutes=1)))
    (row,) = door.open("viewer").get("/api/v1/nodes").json()["dead"]
    assert (row["next_attempt"], row["held_back"]) == (None, "changes are frozen")
    said = dead_nodes_text.sentence(DeadRow(**row))
    assert said.endswith("no answer in time; it is not tried again while changes are frozen")
    text = door.open("viewer", {"Accept": "text/html"}).get("/nodes").text
    assert "it is not tried again while changes are frozen" in text
    assert "tries again from" not in text
    door.store.order_node(NodeOrder("n1", "down", NOW + timedelta(minutes=2)))
    (row,) = door.open("viewer").get("/api/v1/nodes").json()["dead"]
    assert row["next_attempt"]
    assert row["held_back"] == ""


def test_metrics_count_its_sites_and_attempts(door: Door) -> None:
    assert "flex_node_dead_sites" not in door.open("viewer").get("/metrics").text
    tried(door, 2)
    lines = door.open("viewer").get("/metrics").text.splitlines()
    assert 'flex_node_down_attempts{node="n1"} 2' in lines
    assert any(line.startswith('flex_node_dead_sites{node="n1"}') for line in lines)


def test_every_page_says_so_first(door: Door) -> None:
    tried(door, 2)
    for page in ("/", "/nodes", "/history"):
        text = door.open("viewer", {"Accept": "text/html"}).get(page).text
        assert "n1 is down, and" in text
        assert "ns1: no answer in time" in text


def test_the_mail_says_what_failed_how_often_and_when_it_goes_on(door: Door) -> None:
    error = Unreachable(
        "reading the zone", "no answer", kept="DNS is as it was", advice="look after it"
    )
    told = mail_of_the_night.attempt_bulletin("c1", tried(door, 4), error, "")
    assert told.event == "failure"
    assert "node n1 is dead and still in DNS" in told.subject
    assert "Tried 4 times since 2026-03-03 02:17" in told.text
    assert (told.data["node"], told.data["attempts"], told.data["unchanged"]) == (
        "n1",
        4,
        "DNS is as it was",
    )


def watched_by(door: Door, watched: Watched) -> None:
    door.app.state.house = replace(door.app.state.house, watched=lambda: watched)


def test_the_health_watch_is_told_of_where_there_is_one(door: Door) -> None:
    client = door.open("viewer")
    assert client.get("/readyz").json() == {"ready": True, "parts": {"store": "ok"}}
    watched_by(door, Watched(True, 2, datetime.now(UTC), ""))
    assert client.get("/readyz").json() == {"ready": True, "parts": {"store": "ok", "watch": "ok"}}
    lines = client.get("/metrics").text.splitlines()
    assert {"flex_watch_up 1", "flex_watch_starts_total 2"} <= set(lines)


def test_one_that_does_not_look_is_said_on_every_page_and_makes_nobody_ready(door: Door) -> None:
    watched_by(door, Watched(False, 3, None, "OSError: no such file"))
    answer = door.open("viewer").get("/readyz")
    assert (answer.status_code, answer.json()["parts"]["watch"]) == (
        503,
        "its process ended: OSError: no such file",
    )
    assert "flex_watch_up 0" in door.open("viewer").get("/metrics").text
    text = door.open("viewer", {"Accept": "text/html"}).get("/").text
    assert "Nobody looks after dead nodes: its process ended: OSError: no such file." in text

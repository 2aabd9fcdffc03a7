"""Changes made by the API: made from what was seen, once, by whom, and what happens when many come
at once.
"""

from __future__ import annotations

import json
import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from flex.model.audit_chain import fault_of_chain
from flex.model.wish import Pin
from flex.store import migrate, open_store
from flex_api.night import nightly, plan_orders_by_hand, rules_that_stop_plans
from flex_api.night.leases import lease
from flex_api.web.request_context import world

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from starlette.testclient import TestClient

    from tests.rest.conftest import Door

PIN = "/api/v1/sites/s001.example.org/pin"
FREE = "/api/v1/sites/s030.example.org/pin"
PINNED = [f"s03{number}.example.org" for number in range(8)]
NEW = {"If-None-Match": "*"}
SITE = "s000.example.org"


def tag(door: Door, address: str) -> dict[str, str]:
    return {"If-Match": door.open("viewer").get(address).headers["etag"]}


def test_a_change_must_say_what_it_was_made_from(door: Door) -> None:
    operator = door.open("operator")
    for method, address, body in (
        ("PUT", PIN, {"nodes": ["n1"]}),
        ("DELETE", PIN, None),
        ("PUT", "/api/v1/nodes/n1/drain", {}),
        ("PUT", "/api/v1/freeze", {}),
    ):
        answer = operator.request(method, address, json=body)
        assert (answer.status_code, answer.json()["code"]) == (428, "precondition-required"), (
            address
        )


def test_a_change_made_from_what_is_no_longer_so_is_refused(door: Door) -> None:
    operator, seen = door.open("operator"), tag(door, PIN)
    assert operator.put(PIN, json={"nodes": ["n1"]}, headers=seen).status_code == 200
    answer = operator.put(PIN, json={"nodes": ["n2"]}, headers=seen)
    assert (answer.status_code, answer.json()["code"]) == (412, "precondition-failed")
    assert operator.get(PIN).json()["nodes"] == ["n1"]


def test_a_new_wish_is_only_new_where_there_was_none(door: Door) -> None:
    operator = door.open("operator")
    assert operator.put(FREE, json={"nodes": ["n1"]}, headers=NEW).status_code == 201
    assert operator.put(FREE, json={"nodes": ["n1"]}, headers=NEW).status_code == 412
    assert operator.delete(FREE, headers=tag(door, FREE)).status_code == 204
    assert operator.get(FREE).status_code == 404


def test_a_wish_that_cannot_be_kept_is_refused_and_a_dry_run_changes_nothing(door: Door) -> None:
    operator = door.open("operator")
    refused = operator.put(FREE, json={"nodes": ["n1"], "not_on": ["n1"]}, headers=NEW)
    assert refused.json()["code"] in ("infeasible", "validation")
    assert operator.put(FREE, json={"nodes": ["nowhere"]}, headers=NEW).status_code == 404
    assert (
        operator.put(
            FREE, params={"dry_run": True}, json={"nodes": ["n1"]}, headers=NEW
        ).status_code
        == 200
    )
    assert door.store.pin("s030.example.org") is None


def test_each_change_is_noted_with_its_author_reason_and_request(door: Door) -> None:
    headers = {**NEW, "X-Request-Id": "night-7"}
    door.open("operator").put(FREE, json={"nodes": ["n1"], "reason": "launch"}, headers=headers)
    entry = door.open("viewer").get("/api/v1/audit", params={"limit": 1}).json()["items"][0]
    assert (entry["actor"], entry["action"], entry["subject"]) == (
        "token:operator",
        "pin.put",
        "s030.example.org",
    )
    assert (entry["reason"], entry["request"], entry["after"]["nodes"]) == (
        "launch",
        "night-7",
        ["n1"],
    )
    assert fault_of_chain(door.store.entries()) == ""


@pytest.mark.slow
def test_nodes_are_added_changed_drained_and_taken_out(door: Door) -> None:
    admin, operator = door.open("admin"), door.open("operator")
    body = {"name": "n4", "addresses": ["192.0.2.40"], "ram_bytes": 2**30}
    assert admin.post("/api/v1/nodes", json=body).status_code == 201
    assert admin.post("/api/v1/nodes", json=body).status_code == 422
    four = "/api/v1/nodes/n4"
    changed = admin.patch(four, json={"capacity_ratio": 2.0}, headers=tag(door, four))
    assert changed.json()["node"]["capacity_ratio"] == 2.0
    assert (
        operator.put(f"{four}/drain", json={}, headers=tag(door, four)).json()["node"]["state"]
        == "draining"
    )
    assert (
        operator.delete(f"{four}/drain", headers=tag(door, four)).json()["node"]["state"]
        == "active"
    )
    assert admin.delete(four, headers=tag(door, four)).status_code == 204
    assert admin.get(four).status_code == 404


@pytest.mark.parametrize(
    "body",
    [
        {"max_moves": False},
        {"tolerance_ratio": True},
        {"site_factors": {SITE: True}},
        {"frontier": 0},
    ],
    ids=str,
)
def test_true_and_false_are_no_numbers_nor_numbers_true_or_false(
    door: Door, body: dict[str, object]
) -> None:
    answer = door.open("operator").post("/api/v1/whatif", json=body)
    assert (answer.status_code, answer.json()["code"]) == (422, "validation"), answer.text
    assert next(iter(body)) in answer.text


def test_a_freeze_is_made_and_ended(door: Door) -> None:
    operator, address = door.open("operator"), "/api/v1/freeze"
    body = {"until": "2199-01-01T00:00:00Z", "reason": "sale"}
    assert operator.put(address, json=body, headers=tag(door, address)).json()["frozen"]
    assert operator.get(address).json()["until"] == "2199-01-01T00:00:00Z"
    assert operator.delete(address, headers=tag(door, address)).status_code == 204
    assert not operator.get(address).json()["frozen"]


def test_a_plan_over_a_limit_names_rule_limit_actual_and_override(door: Door) -> None:
    waiting = door.store.plans(1)[0]
    answer = door.open("approver").post(
        f"/api/v1/plans/{waiting.id}/apply", json={}, headers={"If-Match": f'"{waiting.digest}"'}
    )
    told = answer.json()
    assert (answer.status_code, told["rule"], told["limit"], told["actual"]) == (
        422,
        "safety.max_moved_sites",
        "2",
        "5",
    )
    assert "safety.max_moved_sites" in told["override"]


def test_nobody_approves_what_applying_would_refuse(door: Door) -> None:
    approval = f"/api/v1/plans/{door.store.plans(1)[0].id}/approval"
    operator, approver = door.open("operator"), door.open("approver")
    assert (
        operator.put("/api/v1/nodes/n2/drain", json={}, headers={"If-Match": "*"}).status_code
        == 200
    )
    told = approver.post(approval, json={"decision": "approve"}).json()
    assert (told["status"], told["rule"], told["actual"]) == (422, "plan.nodes", "n2 is draining")
    assert told["override"].startswith('repeat it with {"force": ["plan.nodes"]')
    assert operator.delete("/api/v1/nodes/n2/drain", headers={"If-Match": "*"}).status_code == 200
    assert approver.post(approval, json={"decision": "approve"}).status_code == 201


@pytest.mark.parametrize(
    "wish",
    [
        Pin(SITE, together=("s003.example.org",)),
        Pin(SITE, apart=("s001.example.org",)),
        Pin(SITE, ("n1", "n3")),
    ],
)
def test_a_wish_for_company_or_places_is_weighed_against_a_plan_that_is_older(
    door: Door, wish: Pin
) -> None:
    last, placement = door.store.plans(1)[0], door.store.placement()[1]
    mine = placement["site"] == SITE
    waiting = replace(last, id=f"{last.id[:-1]}f", digest="f" * 64)
    door.store.propose(waiting, placement.assign(node=placement["node"].mask(mine, "n2")))
    approval = f"/api/v1/plans/{waiting.id}/approval"
    approver = door.open("approver")
    assert approver.post(approval, json={"decision": "approve"}).status_code == 201
    door.store.put_pin(wish)
    told = approver.post(approval, json={"decision": "approve"}).json()
    assert (told["status"], told["rule"], told["actual"]) == (422, "plan.wishes", SITE)
    assert approver.post(approval, json={"decision": "reject"}).status_code == 201


@pytest.mark.parametrize("end", ["taken back", "over"])
def test_a_wish_that_holds_again_is_weighed_against_a_plan_that_is_older(
    door: Door, end: str
) -> None:
    """A campaign was on top of it when the plan was made."""
    last, placement = door.store.plans(1)[0], door.store.placement()[1]
    door.store.put_pin(Pin(SITE, not_on=("n2",)))
    over = last.created + timedelta(seconds=1)
    door.store.put_pin(
        Pin(
            SITE,
            ("n2",),
            campaign="sale",
            until=over if end == "over" else over + timedelta(days=300),
        )
    )
    waiting = replace(last, id=f"{last.id[:-1]}f", digest="f" * 64)
    door.store.propose(
        waiting, placement.assign(node=placement["node"].mask(placement["site"] == SITE, "n2"))
    )
    if end == "taken back":
        assert door.store.drop_pin(SITE, "sale")
    told = (
        door.open("approver")
        .post(f"/api/v1/plans/{waiting.id}/approval", json={"decision": "approve"})
        .json()
    )
    assert (told["status"], told["rule"], told["actual"]) == (422, "plan.wishes", SITE)


def test_a_refusal_names_all_that_a_wish_conflicts_with(door: Door) -> None:
    client, new = door.open("operator"), {"If-None-Match": "*"}
    address = "/api/v1/sites/s010.example.org/pin"
    itself = {"nodes": ["n1"], "not_on": ["n1"], "min_replicas": 9, "max_replicas": 2}
    told = client.put(address, json=itself, headers=new).json()
    assert told["code"] == "infeasible"
    for part in (
        "n1 both as a node and as none",
        "9 replicas and 3 nodes",
        "at least and 2 at most",
    ):
        assert part in told["detail"], part
    # s001 is pinned to n2, and s002 to n3.
    others = {
        "nodes": ["n3"],
        "max_replicas": 1,
        "together": ["s001.example.org"],
        "apart": ["s002.example.org"],
    }
    told = client.put(address, json=others, headers=new).json()
    assert (
        told["code"],
        "s001.example.org" in told["detail"],
        "s002.example.org" in told["detail"],
    ) == ("infeasible", True, True)


def test_a_plan_is_applied_only_as_it_was_looked_at(door: Door) -> None:
    address = f"/api/v1/plans/{door.store.plans(1)[0].id}/apply"
    assert door.open("approver").post(address, json={}).status_code == 428
    assert (
        door.open("approver").post(address, json={}, headers={"If-Match": '"other"'}).status_code
        == 412
    )


def test_a_request_that_counts_on_being_done_once_is_told_that_it_would_not_be(door: Door) -> None:
    operator, jobs = door.open("operator"), len(door.store.jobs())
    answer = operator.post("/api/v1/plans", json={}, headers={"Idempotency-Key": "k1"})
    assert (answer.status_code, len(door.store.jobs())) == (422, jobs)
    problem = answer.json()
    assert (problem["code"], problem["unchanged"]) == ("validation", "nothing was changed")
    assert "Idempotency-Key" in problem["detail"]
    assert "GET /api/v1/jobs" in problem["next_step"]


@pytest.fixture(params=["sqlite", "postgresql"])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    on_sqlite = request.param == "sqlite"
    url: str = (
        f"sqlite:///{tmp_path}/flex.db"
        if on_sqlite
        else request.getfixturevalue("cluster").new_database()
    )
    migrate.upgrade(url)
    return url


def add_myself(client: TestClient, address: str, number: int) -> Counter[int]:
    """Read, add a number to the reason and write, again and again until it got through; which
    answers came.

    It ends with any answer that another attempt would not change.
    """
    codes = Counter[int]()
    while not codes[200] and codes.keys() <= {409, 412}:
        found = client.get(address)
        wanted = {"nodes": ["n1"], "reason": f"{found.json()['reason']} {number}".strip()}
        answer = client.put(address, json=wanted, headers={"If-Match": found.headers["etag"]})
        codes[answer.status_code] += 1
    return codes


def plan_and_apply(door: Door, ended: threading.Event) -> int:
    """Plans, made and applied one after the other; how many."""
    house, number = door.app.state.house, 0
    here = world(house, house.store)
    while not ended.is_set() or not number:
        with lease(here, "plan"):
            made = nightly.propose(here).plan
            plan_orders_by_hand.apply(
                here, made.id, force=[stop.rule for stop in rules_that_stop_plans.stops(here, made)]
            )
        number += 1
    return number


@pytest.mark.slow("postgresql-10")
@pytest.mark.parametrize("clients", [10, pytest.param(50, marks=pytest.mark.torture)])
def test_of_many_clients_none_loses_what_another_wrote_while_plans_are_made_and_applied(
    database: str, filled: Callable[[str], Door], clients: int
) -> None:
    door = filled(database)
    client, ended = door.open("operator"), threading.Event()
    pins = [f"/api/v1/sites/{site}/pin" for site in PINNED]
    for address in pins:
        client.put(address, json={"nodes": ["n1"]}, headers=NEW)
    start = threading.Barrier(clients + 1, timeout=300)

    def change(number: int) -> Counter[int]:
        start.wait()
        return add_myself(client, pins[number % len(pins)], number)

    with ThreadPoolExecutor(clients + 1) as pool:
        planned = pool.submit(lambda: (start.wait(), plan_and_apply(door, ended))[1])
        try:
            codes = sum(pool.map(change, range(clients)), Counter[int]())
        finally:
            # Also where a client failed: else plans are made for ever.
            ended.set()
        assert planned.result() > 0
    assert set(codes) <= {200, 409, 412}
    assert codes[200] == clients
    for at, address in enumerate(pins):
        written = sorted(map(int, client.get(address).json()["reason"].split()))
        assert written == list(range(at, clients, len(pins)))
    with open_store(database) as store:
        assert fault_of_chain(store.entries(limit=10_000)) == ""


def test_the_events_of_a_job_end_with_its_last_state(door: Door) -> None:
    answer = door.open("viewer").get("/api/v1/jobs/j1/events")
    assert answer.headers["content-type"].startswith("text/event-stream")
    kind, data = answer.text.strip().split("\n")
    assert (kind, json.loads(data.removeprefix("data: "))["state"]) == ("event: end", "done")


def test_a_job_that_has_ended_cannot_be_ended_again(door: Door) -> None:
    answer = door.open("operator").delete("/api/v1/jobs/j1")
    assert (answer.status_code, answer.json()["code"]) == (409, "busy")


def test_a_job_that_fails_says_why(door: Door) -> None:
    job = door.open("operator").post("/api/v1/plans", json={}).json()
    door.app.state.house.workers.wait(job["id"])
    ended = door.open("viewer").get(f"/api/v1/jobs/{job['id']}").json()
    assert ended["state"] == "failed"
    assert ended["problem"]["next_step"]

"""Plans of which something became meanwhile: who comes too late hears so, and nothing is done by
halves.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from flex.model.dns_update_journal import Journal
from flex.model.nightly_run import NightlyRun
from flex.model.plan import Plan, PlanState
from flex.model.zone_plan import ZonePlan
from flex.ports import PublisherAround
from flex.store import Store, holder
from flex_api.night import nightly

if TYPE_CHECKING:
    from tests.rest.conftest import Door


@dataclass(frozen=True, slots=True)
class Slow(PublisherAround):
    """A name server that takes its time with every change."""

    begun: threading.Event = field(default_factory=threading.Event)
    go: threading.Event = field(default_factory=threading.Event)

    def apply(self, *plans: ZonePlan, journal: Journal | None = None) -> None:
        self.begun.set()
        assert self.go.wait(300), "nobody let it go on"
        self.publisher.apply(*plans, journal=journal)


def begun(door: Door) -> Plan:
    """Another plan, which a killed run was applying."""
    waiting = door.store.plans(1)[0]
    other = replace(
        waiting,
        id=f"{waiting.id[:-1]}e",
        digest="e" * 64,
        created=waiting.created - timedelta(minutes=1),
    )
    door.store.propose(other, door.store.placement_of(waiting.id))
    door.store.update(replace(other, state="applying"))
    return other


def rejected(store: Store, waiting: Plan) -> None:
    store.update(replace(waiting, state="discarded"))


def overtaken(store: Store, waiting: Plan) -> None:
    other = replace(waiting, id=f"{waiting.id[:-1]}f", digest="f" * 64)
    placement = store.placement_of(waiting.id)
    store.propose(other, placement)
    store.settle(replace(other, state="applied", settled=waiting.created), placement)


def aged(store: Store, waiting: Plan) -> None:
    store.update(replace(waiting, created=waiting.created - timedelta(days=30)))


@pytest.mark.parametrize(
    ("meanwhile", "code"),
    [(rejected, "plan-ended"), (overtaken, "stale-base"), (aged, "plan-expired")],
)
@pytest.mark.parametrize("verb", ["approval", "apply"])
def test_who_comes_too_late_for_a_plan_hears_what_became_of_it(
    door: Door, verb: str, meanwhile: Callable[[Store, Plan], None], code: str
) -> None:
    waiting = door.store.plans(1)[0]
    meanwhile(door.store, waiting)
    body = {"decision": "approve"} if verb == "approval" else {"force": ["safety.max_moved_sites"]}
    headers = {"If-Match": f'"{waiting.digest}"'} if verb == "apply" else {}
    answer = door.open("approver").post(
        f"/api/v1/plans/{waiting.id}/{verb}", json=body, headers=headers
    )
    assert (answer.status_code, answer.json()["code"]) == (409, code)


@pytest.mark.parametrize("verb", ["apply", "approval"])
def test_a_plan_is_decided_on_by_its_digest_alone(door: Door, verb: str) -> None:
    waiting = door.store.plans(1)[0]
    given = {"decision": "approve"} if verb == "approval" else {}
    for tag in ("*", f'"{"0" * 64}"'):
        answer = door.open("admin").post(
            f"/api/v1/plans/{waiting.id}/{verb}", json=given, headers={"If-Match": tag}
        )
        assert (answer.status_code, answer.json()["code"]) == (412, "precondition-failed"), tag
    assert door.store.plan(waiting.id) == waiting


@pytest.mark.parametrize("verb", ["apply", "approval"])
def test_a_rule_that_is_none_cannot_be_gone_over(door: Door, verb: str) -> None:
    waiting = door.store.plans(1)[0]
    given = {
        "force": ["safety.max_moved_sitez"],
        **({"decision": "approve"} if verb == "approval" else {}),
    }
    headers = {"If-Match": f'"{waiting.digest}"'}
    answer = door.open("admin").post(
        f"/api/v1/plans/{waiting.id}/{verb}", json=given, headers=headers
    )
    assert (answer.status_code, answer.json()["code"]) == (422, "validation")
    for rule in ("safety.max_moved_sitez", "safety.max_moved_sites", "plan.wishes", "freeze"):
        assert rule in answer.json()["detail"]
    assert door.store.plan(waiting.id) == waiting


@pytest.mark.parametrize("state", ["proposed", "discarded", "failed"])
def test_nobody_goes_back_to_what_was_never_in_force(door: Door, state: PlanState) -> None:
    waiting, *partitions = door.store.plans()
    door.store.update(replace(waiting, state=state))
    answer = door.open("operator").post("/api/v1/rollbacks", json={"to": waiting.id})
    assert (answer.status_code, answer.json()["code"]) == (404, "not-found")
    assert f"it is {state} and was never in force" in answer.json()["detail"]
    assert all(plan.id in answer.json()["next_step"] for plan in partitions)
    assert [job.kind for job in door.store.jobs() if job.kind == "rollback"] == []


def test_a_partition_that_was_given_up_half_way_was_in_force_and_can_be_gone_back_to(
    door: Door,
) -> None:
    given_up, second, first = door.store.plans()
    door.store.settle(replace(given_up, state="failed"), door.store.placement_of(given_up.id))
    assert nightly.earlier(door.store, given_up.id) == given_up.id
    assert nightly.earlier(door.store) == second.id
    later = replace(
        given_up, id="29990101T000000-0", base=given_up.id, created=given_up.created + timedelta(1)
    )
    door.store.propose(replace(later, state="proposed"), door.store.placement_of(first.id))
    door.store.settle(replace(later, state="applied"), door.store.placement_of(first.id))
    assert nightly.earlier(door.store) == given_up.id


@pytest.mark.parametrize("address", ["plans", "rollbacks"])
def test_making_a_plan_finishes_none_that_is_half_applied(door: Door, address: str) -> None:
    other = begun(door)
    asked = door.open("operator").post(f"/api/v1/{address}", json={})
    job = asked.json()
    door.app.state.house.workers.wait(job["id"])
    ended = door.open("viewer").get(f"/api/v1/jobs/{job['id']}").json()
    assert ended["problem"]["request_id"] == asked.headers["X-Request-Id"]
    assert (ended["state"], other.id in ended["problem"]["detail"]) == ("failed", True)
    assert door.store.plan(other.id).state == "applying"


def test_nobody_ends_a_job_in_the_middle_of_finishing_another_plan(door: Door) -> None:
    waiting, target = door.store.plans(1)[0], Slow(door.target)
    door.target = target
    begun(door)
    job = (
        door.open("approver")
        .post(
            f"/api/v1/plans/{waiting.id}/apply",
            json={"force": ["safety.max_moved_sites"]},
            headers={"If-Match": f'"{waiting.digest}"'},
        )
        .json()
    )
    assert target.begun.wait(300)
    answer = door.open("operator").delete(f"/api/v1/jobs/{job['id']}")
    assert (answer.status_code, answer.json()["code"]) == (409, "busy")
    target.go.set()
    door.app.state.house.workers.wait(job["id"])


def test_runs_come_with_the_figures_of_their_plans_where_these_are_asked_for(door: Door) -> None:
    client, plan = door.open("viewer"), door.store.plans(1)[0]
    run = NightlyRun("r9", holder(), plan.created + timedelta(days=1), plan=plan.id)
    door.store.begin(run, timedelta(hours=1), plan.created)
    door.store.end(replace(run, ended=run.started))
    for asked, moves in (("false", None), ("true", len(plan.moves))):
        rows = client.get(f"/api/v1/runs?figures={asked}&plan={plan.id}").json()
        assert [row["moves"] for row in rows["items"]] == [moves]


@pytest.mark.parametrize("way", ["resume", "undo", "abandon"])
def test_what_is_half_applied_is_ended_by_who_looked_at_it_alone(door: Door, way: str) -> None:
    other, noted = begun(door), door.store.last_number()
    client = door.open("approver")
    for tag, status in ((None, 428), ("*", 412), (f'"{"0" * 64}"', 412)):
        headers = {"If-Match": tag} if tag else {}
        answer = client.post("/api/v1/recoveries", json={"way": way}, headers=headers)
        assert (answer.status_code, answer.json()["unchanged"]) == (status, "it stays half applied")
    assert door.store.last_number() == noted
    assert door.store.plan(other.id).state == "applying"


@pytest.mark.parametrize(
    ("way", "state"), [("resume", "applied"), ("undo", "failed"), ("abandon", "failed")]
)
def test_what_is_half_applied_is_ended_once(door: Door, way: str, state: str) -> None:
    other, client = begun(door), door.open("approver")
    headers = {"If-Match": f'"{other.digest}"'}
    asked = {"way": way, "reason": "killed"}
    job = client.post("/api/v1/recoveries", json=asked, headers=headers).json()
    door.app.state.house.workers.wait(job["id"])
    ended = client.get(f"/api/v1/jobs/{job['id']}").json()
    assert (ended["kind"], ended["state"]) == (way, "done"), ended
    assert ended["result"] == f"/api/v1/plans/{other.id}"
    assert door.store.plan(other.id).state == state
    after = client.post("/api/v1/recoveries", json={"way": way}).json()
    door.app.state.house.workers.wait(after["id"])
    assert client.get(f"/api/v1/jobs/{after['id']}").json()["result"] == ""

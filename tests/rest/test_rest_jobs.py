"""Jobs: followed while they are done, ended at a safe point, and never once DNS is being
changed.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from http.client import HTTPConnection, HTTPResponse
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import pytest

from flex.model.jobs import Job
from flex.store import holder
from flex.store.lease_holder import PATIENCE
from flex_api import work_in_background
from flex_api.web.request_context import world
from tests.rest.conftest import NOW

if TYPE_CHECKING:
    from flex_api.wiring import World
    from flex_api.work_in_background import Follow
    from tests.rest.conftest import Door


@dataclass(slots=True)
class Work:
    """Stops in the middle until it is let go; then comes a safe point."""

    door: Door
    changes_dns: bool = False
    begun: threading.Event = field(default_factory=threading.Event)
    go: threading.Event = field(default_factory=threading.Event)
    reached: bool = False

    def __call__(self, _world: World, follow: Follow) -> str:
        follow.say("reading")
        if self.changes_dns:
            follow.past_return()
        self.begun.set()
        assert self.go.wait(300), "nobody let it go on"
        follow.say("writing")
        self.reached = True
        return "/api/v1/plans/made"

    def start(self) -> Job:
        house = self.door.app.state.house
        job: Job = house.workers.start(world(house, self.door.store), "plan", "anna", self)
        assert self.begun.wait(300)
        return job

    def end(self, job: Job) -> dict[str, Any]:
        """Any: what JSON holds."""
        self.go.set()
        self.door.app.state.house.workers.wait(job.id)
        told: dict[str, Any] = self.door.open("viewer").get(f"/api/v1/jobs/{job.id}").json()
        return told


def test_a_job_ends_at_its_next_safe_point_and_does_nothing_behind_it(door: Door) -> None:
    work = Work(door)
    job = work.start()
    answer = door.open("operator").delete(f"/api/v1/jobs/{job.id}")
    asked = answer.json()
    assert (answer.status_code, asked["state"], asked["cancelled_by"]) == (
        202,
        "running",
        "token:operator",
    )
    ended = work.end(job)
    assert (ended["state"], ended["result"], work.reached) == ("cancelled", "", False)
    assert (ended["stage"], ended["cancelled_by"]) == ("cancelled", "token:operator")
    assert [entry.action for entry in door.store.entries()][-2:] == ["job.cancel", "job.end"]


def test_a_job_whose_process_died_has_failed_and_says_where_it_was(door: Door) -> None:
    # A process of our number that began at another time.
    dead = f"{holder().rpartition(':')[0]}:1"
    door.store.put_job(Job("gone", "plan", "anna", dead, NOW, stage="reading profiles"))
    told = door.open("viewer").get("/api/v1/jobs/gone").json()
    assert (told["state"], told["stage"], told["problem"]["code"]) == (
        "failed",
        "failed",
        "interrupted",
    )
    assert "'reading profiles'" in told["problem"]["detail"]
    assert "finished by the next run" in told["problem"]["unchanged"]
    assert door.open("viewer").get("/problems/interrupted").status_code == 200


def test_a_job_that_changes_dns_goes_on_to_its_end(door: Door) -> None:
    work = Work(door, changes_dns=True)
    job = work.start()
    answer = door.open("operator").delete(f"/api/v1/jobs/{job.id}")
    assert (answer.status_code, answer.json()["code"]) == (409, "busy")
    assert (work.end(job)["state"], work.reached) == ("done", True)


def test_of_jobs_that_change_the_same_one_is_done_at_a_time(door: Door) -> None:
    work = Work(door)
    job = work.start()
    answer = door.open("operator").post("/api/v1/plans", json={})
    assert (answer.status_code, answer.json()["code"]) == (409, "busy")
    assert work.end(job)["result"] == "/api/v1/plans/made"


def events(answer: HTTPResponse) -> Iterator[tuple[str, dict[str, Any]]]:
    """Each as it comes. Any: what JSON holds."""
    while line := answer.readline().decode().strip():
        kind = line.removeprefix("event: ")
        yield kind, json.loads(answer.readline().decode().removeprefix("data: "))
        answer.readline()


def test_head_of_what_follows_a_job_does_not_wait_for_its_end(door: Door) -> None:
    work = Work(door)
    job = work.start()
    head = door.open("viewer").head(f"/api/v1/jobs/{job.id}/events")
    assert (head.status_code, head.content) == (200, b"")
    assert work.end(job)["state"] == "done"


@pytest.mark.parametrize("cancelled", [False, True])
def test_whoever_follows_a_job_sees_each_step_when_it_is_made_and_how_it_ends(
    door: Door, address: str, cancelled: bool
) -> None:
    work = Work(door)
    job = work.start()
    connection = HTTPConnection(urlsplit(address).netloc, timeout=60)
    shown = {"Authorization": f"Bearer {door.secrets['viewer']}"}
    connection.request("GET", f"/api/v1/jobs/{job.id}/events", headers=shown)
    told = events(connection.getresponse())
    kind, first = next(told)
    assert (kind, first["state"], first["stage"]) == ("progress", "running", "reading")
    if cancelled:
        assert door.open("operator").delete(f"/api/v1/jobs/{job.id}").status_code == 202
    work.go.set()
    kind, last = list(told)[-1]
    assert (kind, last["state"]) == ("end", "cancelled" if cancelled else "done")
    connection.close()


def test_a_job_of_a_machine_that_is_silent_for_long_keeps_nobody_from_another(door: Door) -> None:
    now = datetime.now(UTC)
    late = Job(
        "late", "plan", "anna", "other.example.org:1:1", now - PATIENCE * 3, seen=now - PATIENCE / 2
    )
    door.store.put_job(late)
    refused = door.open("operator").post("/api/v1/plans", json={})
    assert (
        refused.status_code,
        "the job late to plan is being done" in refused.json()["detail"],
    ) == (409, True)
    door.store.put_job(replace(late, seen=now - PATIENCE * 2))
    assert door.open("viewer").get("/api/v1/jobs/late").json()["state"] == "failed"
    job = door.open("operator").post("/api/v1/plans", json={}).json()
    door.app.state.house.workers.wait(job["id"])


def test_while_it_is_being_done_a_job_says_so(door: Door, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(work_in_background, "BEATS", timedelta(milliseconds=5))
    work = Work(door)
    job, heard = work.start(), 0
    before = job.created
    for _ in range(2_000):
        seen = door.store.job(job.id).seen or before  # type: ignore[union-attr]  # it was begun
        heard, before = heard + (seen > before), seen
        if heard >= 2:
            break
        time.sleep(0.005)
    assert heard >= 2
    assert work.end(job)["state"] == "done"

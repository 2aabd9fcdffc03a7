"""Reports over REST: by plan or by day."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.rest.conftest import Door


def test_a_day_names_its_last_plan(door: Door) -> None:
    viewer, newest = door.open("viewer"), door.store.headlines()[0]
    said = viewer.get(f"/api/v1/reports/{newest.created:%Y-%m-%d}?format=json").json()
    assert said["plan"]["created"][:10] == f"{newest.created:%Y-%m-%d}"
    assert said["plan"]["id"] == newest.id


def test_a_day_without_a_plan_is_one_clear_problem(door: Door) -> None:
    said = door.open("viewer").get("/api/v1/reports/1999-12-31")
    assert (said.status_code, "no plan was made on that day" in said.text) == (404, True)

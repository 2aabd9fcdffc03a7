"""Reports over REST: by plan or by day."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from flex_api.report.print_pdf import BROWSERS

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


@pytest.mark.parametrize("form", ["html", "json", "md"])
def test_a_report_that_says_the_same_is_not_sent_again(door: Door, form: str) -> None:
    """Whenever it is made: the moment of that is no news."""
    viewer, address = door.open("viewer"), f"/api/v1/reports/latest?format={form}"
    tag = viewer.get(address).headers["etag"]
    assert viewer.get(address, headers={"If-None-Match": tag}).status_code == 304
    door.store.update(
        replace(door.store.plans(1)[0], message="somebody said no", state="discarded")
    )
    assert viewer.get(address, headers={"If-None-Match": tag}).status_code == 200


@pytest.mark.skipif(not any(map(shutil.which, BROWSERS)), reason="there is no Chromium")
def test_a_report_is_printed_where_it_is_asked_for_and_not_twice(door: Door) -> None:
    viewer = door.open("viewer", {"Accept": "application/pdf"})
    first = viewer.get("/api/v1/reports/latest")
    assert (first.status_code, first.headers["content-type"], first.content[:5]) == (
        200,
        "application/pdf",
        b"%PDF-",
    )
    again = viewer.get(
        "/api/v1/reports/latest?format=pdf", headers={"If-None-Match": first.headers["etag"]}
    )
    assert (again.status_code, again.content) == (304, b"")


@contextmanager
def without_programs() -> Iterator[None]:
    there = os.environ["PATH"]
    os.environ["PATH"] = "/nowhere"
    yield
    os.environ["PATH"] = there


def test_where_nothing_prints_that_is_said_and_what_helps(door: Door) -> None:
    with without_programs():
        said = door.open("viewer").get("/api/v1/reports/latest?format=pdf")
    assert (said.status_code, said.json()["code"]) == (503, "not-printed")
    assert "there is no Chromium" in said.json()["detail"]
    assert "HTML" in said.json()["next_step"]

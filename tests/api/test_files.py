"""`flex files`: what visitors ask of a site, file by file."""

from __future__ import annotations

import csv
import io
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.api.conftest import Installation

pytestmark = pytest.mark.real


@pytest.fixture
def read(installation: Installation) -> Installation:
    """With the logs of a day read, and profiles of it."""
    installation.first_plan()
    return installation


@pytest.mark.slow
def test_files_come_largest_first_of_whatever_is_asked_for(read: Installation) -> None:
    site = read.flex("-o", "json", "files").json["items"][0]["site"]
    for sort, column in (("requests", "requests"), ("bytes", "sent_bytes"), ("size", "size_bytes")):
        items = read.flex("-o", "json", "files", site, "--sort", sort, "--limit", "5").json["items"]
        assert [item[column] for item in items] == sorted(
            (item[column] for item in items), reverse=True
        )
        assert {item["site"] for item in items} == {site}
    rows = list(csv.DictReader(io.StringIO(read.flex("files", site, "--limit", "5", "--csv").out)))
    assert [row["target"] for row in rows] == [
        item["target"]
        for item in read.flex("-o", "json", "files", site, "--limit", "5").json["items"]
    ]
    (found,) = read.flex("-o", "json", "files", site, "--match", rows[-1]["target"]).json["items"]
    assert found["target"] == rows[-1]["target"]


def test_people_read_how_few_files_make_nearly_all_of_the_traffic(read: Installation) -> None:
    said = read.flex("files", "--limit", "3").out
    assert "97 % of the requests" in said
    assert "99 % of the bytes" in said


def test_a_site_that_nobody_asked_for_is_named_with_those_that_are_known(
    read: Installation,
) -> None:
    said = read.flex("files", "nobody.example")
    assert (said.code, said.out) == (3, "")
    assert "nobody.example" in said.err


def test_before_the_first_profile_the_verb_says_what_to_do(installation: Installation) -> None:
    said = installation.flex("files")
    assert said.code == 20
    assert "flex plan" in said.err

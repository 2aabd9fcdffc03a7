"""What `flex apply` and `flex plan show` say at their end of what became of a plan."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from flex_api.facts import core_to_output_models
from flex_api.in_words import dns_result_text
from flex_api.schemas.plan_parts import VerdictRow
from flex_api.schemas.verbs_output import ZoneRow
from tests.api.test_app import plan

if TYPE_CHECKING:
    from tests.api.conftest import Installation

GONE = ZoneRow(zone="a.", changes=["- x. 60 A 192.0.2.1", "- y. 60 A 192.0.2.1"], foreign=[])


def row(server: str, zone: str = "a.", *, lag: float = 0.0, error: str = "") -> VerdictRow:
    return VerdictRow(
        server=server,
        agrees=not error,
        checked=2,
        serial=5,
        wrong=[],
        error=error,
        lag_seconds=lag,
        zone=zone,
    )


def told(*verdicts: VerdictRow, **values: object) -> list[str]:
    applied = core_to_output_models.plan_output(plan())
    return list(
        dns_result_text.lines(applied.model_copy(update={"verdicts": list(verdicts), **values}))
    )


def test_each_server_is_named_with_how_long_it_took_in_all_zones() -> None:
    assert told(row("ns1"), row("ns2", lag=0.31), row("ns1", "b."), row("ns2", "b.", lag=1.24)) == [
        "Put in force 2026-03-04 02:17 UTC: 1 record set in 1 zone changed.",
        "  ns1 agrees at once (4 record sets in 2 zones checked)",
        "  ns2 agrees after 1.2 s (4 record sets in 2 zones checked)",
    ]
    assert told(row("ns1"))[1:] == [
        "  ns1 agrees at once (2 record sets in 1 zone checked, serial 5)"
    ]


def test_who_does_not_agree_yet_is_named_by_zone() -> None:
    away = [row("ns2", f"z{number}.", error="no answer in time") for number in range(7)]
    assert told(row("ns1"), *away)[2:] == [
        *(f"  ns2 does not agree yet, z{number}.: no answer in time" for number in range(5)),
        "  ns2 does not agree yet in 2 more zones",
    ]


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"zones": []}, "no zone is FLEX's to change, nothing was sent."),
        ({"message": "put into DNS by hand"}, "put into DNS by hand, nothing was sent."),
        ({"zones": [GONE]}, "2 record sets in 1 zone changed."),
    ],
)  # fmt: skip
def test_a_record_set_is_counted_once_and_what_was_not_sent_is_not_said_to_be(
    values: dict[str, object], said: str
) -> None:
    assert said in told(**values)[0]


def test_of_a_plan_that_waits_nothing_is_said_and_of_one_that_failed_why() -> None:
    assert told(state="proposed") == []
    assert told(state="failed", message="taken back") == ["Not applied as planned: taken back."]
    assert "`flex apply --resume`" in told(state="applying")[0]


@pytest.mark.slow
@pytest.mark.real
def test_who_applies_a_plan_is_told_that_it_is_in_force_and_which_servers_agree(
    installation: Installation,
) -> None:
    installation.read_logs()
    made = installation.flex("plan", "--as-of", installation.as_of())
    assert "Put in force" not in made.out
    applied = installation.flex("apply", "--as-of", installation.as_of())
    assert re.search(
        r"\nPut in force 20\d\d-\d\d-\d\d \d\d:\d\d UTC: 48 record sets in 1 zone changed\.\n"
        r"  127\.0\.0\.1:\d+ agrees ",
        applied.out,
    )
    runs = installation.flex("-o", "json", "history").json["items"]
    (run,) = [run for run in runs if run["message"] == "apply"]
    assert [stage["name"] for stage in run["stages"]] == ["apply", "verify", "settle"]


@pytest.mark.real
def test_who_applies_a_plan_that_changes_nothing_is_told_that_it_is_in_force(
    installation: Installation,
) -> None:
    installation.first_night()
    assert installation.flex("plan", "--as-of", installation.as_of()).code == 0
    applied = installation.flex("apply", "--as-of", installation.as_of())
    assert "DNS said all of it before, nothing was sent.\n" in applied.out

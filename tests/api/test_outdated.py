"""A plan is applied to the cluster that it was made for: what was changed since is found before DNS
is touched.
"""

from __future__ import annotations

import json
import re
from datetime import datetime
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.api.conftest import Installation

pytestmark = pytest.mark.real


@pytest.fixture
def move(installation: Installation) -> dict[str, Any]:
    """One of the moves of a plan that waits. Any: what JSON holds."""
    installation.mode = "review"
    installation.write_settings()
    # No name server can come to say what is asked of it here.
    text = installation.settings.read_text(encoding="utf-8")
    installation.settings.write_text(
        text.replace("[dns]\n", '[dns]\nsettle = "1s"\n'), encoding="utf-8"
    )
    installation.read_logs()
    said = installation.flex("-o", "json", "plan", "--as-of", installation.as_of()).json
    found: dict[str, Any] = next(move for move in said["moves"] if move["target"] == "n2")
    return found


def refused(installation: Installation, rule: str, said: str) -> None:
    serial = installation.serial()
    apply = ("apply", "--as-of", installation.as_of(), "--force", "safety.max_new_sites")
    answer = installation.flex("-o", "json", *apply)
    assert answer.code == 22
    stops = json.loads(answer.err)["stops"]
    assert [(stop["rule"], said in stop["actual"]) for stop in stops] == [(rule, True)]
    assert installation.serial() == serial
    assert installation.flex(*apply, "--force", rule).code in {0, 32}


@pytest.mark.slow
def test_a_node_that_takes_no_more_sites_is_moved_to_only_when_that_is_said(
    installation: Installation, move: dict[str, Any]
) -> None:
    assert installation.flex("nodes", "drain", move["target"]).code == 0
    refused(installation, "plan.nodes", "n2 is draining")


@pytest.mark.slow
def test_an_address_that_a_node_has_no_more_is_announced_only_when_that_is_said(
    installation: Installation, move: dict[str, Any]
) -> None:
    assert installation.flex("nodes", "set", move["target"], "--addresses", "192.0.2.93").code == 0
    refused(installation, "plan.addresses", "192.0.2.2")


@pytest.mark.slow
def test_a_wish_that_is_newer_is_gone_against_only_when_that_is_said(
    installation: Installation, move: dict[str, Any]
) -> None:
    assert installation.flex("sites", "pin", move["site"], "--not-on", move["target"]).code == 0
    refused(installation, "plan.wishes", move["site"])


@pytest.mark.slow
def test_a_wish_that_the_plan_was_made_with_or_keeps_is_in_nobodys_way(
    installation: Installation, move: dict[str, Any]
) -> None:
    assert installation.flex("sites", "pin", move["site"], "--nodes", move["target"]).code == 0
    apply = ("apply", "--as-of", installation.as_of(), "--force", "safety.max_new_sites")
    assert installation.flex(*apply).code == 0


def test_old_logs_are_planned_as_of_their_end_and_that_plan_is_applied(
    installation: Installation,
) -> None:
    installation.mode = "review"
    installation.write_settings()
    installation.read_logs()
    refused = installation.flex("plan")
    assert refused.code == 20
    (command,) = re.findall(r"`flex (plan --as-of [0-9-]+)`", refused.err)
    made = installation.flex("-o", "json", *command.split()).json
    assert datetime.fromisoformat(made["made"]) > datetime.fromisoformat(made["created"])
    (row,) = installation.flex("-o", "json", "plan", "list").json["items"]
    assert not row["expired"]
    said = installation.flex("apply", "--force", "safety.max_new_sites")
    assert said.code == 0, said.err
    runs = installation.flex("-o", "json", "history").json["items"]
    (run,) = [one for one in runs if one["started"] == made["created"]]
    ended = datetime.fromisoformat(run["ended"])
    assert ended > datetime.fromisoformat(run["started"])


def test_a_plan_as_of_another_time_is_newer_than_those_made_before_it(
    installation: Installation,
) -> None:
    installation.mode = "review"
    installation.write_settings()
    installation.read_logs()
    older = installation.flex("-o", "json", "plan", "--as-of", "2026-03-03T05:00:00")
    newer = installation.flex("-o", "json", "plan", "--as-of", "2026-03-03")
    assert [older.code, newer.code] == [0, 0], older.err + newer.err
    listed = installation.flex("-o", "json", "plan", "list").json["items"]
    assert [row["id"] for row in listed] == [newer.json["id"], older.json["id"]]
    shown = installation.flex("-o", "json", "plan", "show").json
    assert shown["id"] == newer.json["id"]


def test_a_time_to_plan_as_of_is_named_with_the_rules_that_are_gone_past_and_why(
    installation: Installation,
) -> None:
    assert installation.flex("ingest", "--source", "n1").code == 0
    refused = installation.flex("plan")
    assert refused.code == 20
    said = " ".join(refused.err.split())
    (advised,) = re.findall(r"`flex (plan --as-of [^`]*)`", said)
    assert "--force profile.max_age" in advised
    # However long ago that is, it is said when the last line was written.
    (read, *_) = installation.flex("-o", "json", "data").json["nodes"]
    assert (read["name"], read["last_line"][:7]) == ("n1", "2026-03")
    assert "though the logs of n2: no line of" in said
    assert installation.flex(*advised.split()).code == 0

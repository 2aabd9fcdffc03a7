"""What doors pass on is in plans, reports and pages, for who asks here and there."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest

from flex.model.stray_requests import Counted, StrayReading
from tests.api.test_doors_and_dns import site_on_one_node, store_of, without_dns

if TYPE_CHECKING:
    from tests.api.conftest import Installation


def at_doors(installation: Installation, plan: str) -> dict[str, int]:
    """By node how many requests its door passes on under the partition of the plan."""
    said = installation.flex("-o", "json", "plan", "show", plan).json
    (row,) = [one for one in said["forecasts"] if one["policy"] == "after"]
    return {node["node"]: node["passed_on"] for node in row["nodes"]}


@pytest.mark.slow
def test_a_plan_says_what_doors_will_pass_on_when_it_moves_what_dns_does_not_follow(
    installation: Installation,
) -> None:
    without_dns(installation)
    assert installation.night().code == 0
    site, here, there = site_on_one_node(installation)
    drained = installation.flex("nodes", "drain", here)
    told = " ".join(drained.out.split())
    assert f"keep coming to {here} when sites have left it" in told
    assert f"{here} passes them on while its HAProxy runs" in told
    assert installation.flex("nodes", "undrain", here).code == 0
    assert installation.flex("sites", "pin", site, "--nodes", there).code == 0
    made = installation.flex("-o", "json", "plan", "--as-of", installation.as_of()).json
    assert at_doors(installation, made["id"])[here] > 0
    shown = installation.flex("plan", "show", made["id"])
    assert "passed on" in shown.out


@pytest.mark.slow
def test_what_doors_counted_is_in_the_next_plan_and_the_report_of_its_night(
    installation: Installation,
) -> None:
    without_dns(installation)
    assert installation.night().code == 0
    first = installation.flex("-o", "json", "plan", "list").json["items"][0]["id"]
    assert not any(at_doors(installation, first).values())
    site, _, there = site_on_one_node(installation)
    with store_of(installation) as store:
        reading = StrayReading(86_400, 1, 50_000, (Counted(site, 50_000, 5.0),))
        store.note_strays(there, reading, datetime.now(UTC))
    made = installation.flex("-o", "json", "plan", "--as-of", installation.as_of()).json
    asked = at_doors(installation, made["id"])
    assert asked[there] > 0
    assert sum(asked.values()) == asked[there]
    file = installation.folder / "report.html"
    assert installation.flex("report", made["id"], "--to", str(file)).code == 0
    page = file.read_text()
    assert "requests passed on" in page
    assert f"<bdi>{there}</bdi> {asked[there]:,} (" in page

"""What people wish for sites and nodes, and what becomes of wishes that cannot be kept for a
while.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.api.conftest import Installation

pytestmark = pytest.mark.real


def first_site(installation: Installation) -> str:
    name: str = installation.flex("-o", "json", "sites", "list").json["items"][0]["site"]
    return name


def test_a_site_is_pinned_shown_and_freed_however_its_name_is_written(
    installation: Installation,
) -> None:
    installation.first_night()
    site = first_site(installation)
    assert (
        installation.flex("-o", "json", "sites", "pin", f"{site.upper()}.", "--nodes", "n2").json[
            "site"
        ]
        == site
    )
    (shown,) = installation.flex("-o", "json", "sites", "show", f"{site.title()}.").json["items"]
    assert (shown["site"], shown["pinned_to"]) == (site, ["n2"])
    assert installation.flex("sites", "unpin", f"{site}.").code == 0


@pytest.mark.slow
def test_a_site_is_kept_off_a_node_and_away_from_another_site(installation: Installation) -> None:
    installation.first_night()
    text = installation.settings.read_text(encoding="utf-8")
    installation.settings.write_text(
        text.replace("[solver]", '[solver]\nengine = "exact"'), encoding="utf-8"
    )
    items = installation.flex("-o", "json", "sites", "list").json["items"]
    site, other = items[0]["site"], items[1]["site"]
    pinned = installation.flex(
        "-o", "json", "sites", "pin", site, "--not-on", "n1", "--apart", other
    )
    assert (pinned.json["not_on"], pinned.json["apart"]) == (["n1"], [other])
    assert installation.flex("plan", "--as-of", installation.as_of()).code == 0
    said = installation.flex("-o", "json", "explain", site).json
    assert "n1" not in said["nodes"]
    assert said["reasons"]
    assert all(row["target"] != "n1" for row in said["others"])
    curve = installation.flex("-o", "json", "plan", "frontier").json
    reached = [one["worst_ratio"] for one in curve["items"] if one["moves"] <= curve["plan_moves"]]
    assert min(reached) <= curve["plan_worst_ratio"] + 1e-9


def test_a_pin_that_contradicts_itself_is_refused(installation: Installation) -> None:
    installation.first_night()
    site = first_site(installation)
    assert installation.flex("sites", "pin", site, "--nodes", "n1", "--not-on", "n1").code == 21
    assert installation.flex("sites", "pin", site, "--not-on", "n1,n2,n3,n4").code in {3, 21}
    assert installation.flex("sites", "pin", site, "--together", "nobody.example").code == 3


@pytest.mark.slow
def test_draining_a_node_says_which_pins_it_suspends_and_stops_no_plan(
    installation: Installation,
) -> None:
    installation.first_night()
    site = first_site(installation)
    assert installation.flex("sites", "pin", site, "--nodes", "n2,n3").code == 0
    said = installation.flex("-o", "json", "nodes", "drain", "n2")
    suspended = f"a pin is suspended from the next plan on: {site} (n2 is draining; n3 still holds)"
    assert said.json["notes"][0] == suspended
    assert [note for note in said.json["notes"] if "suspended" in note] == [suspended]
    assert site in installation.flex("nodes", "drain", "n2", "--dry-run").out + said.out
    other = installation.flex("-o", "json", "sites", "list").json["items"][1]["site"]
    assert installation.flex("sites", "pin", other, "--nodes", "n1").code == 0
    plan = installation.flex("-o", "json", "plan", "--as-of", installation.as_of())
    assert plan.code == 0
    assert any(
        "pins that cannot be kept now" in note and site in note for note in plan.json["notes"]
    )
    assert any(
        "these give way first: apart, together, at least" in note for note in plan.json["notes"]
    )
    why = installation.flex("-o", "json", "explain", site).json["reasons"]
    assert f"its wish gives way: {site} (n2 is draining; n3 still holds)" in why


def test_a_node_taken_out_of_the_settings_is_named_as_long_as_sites_are_on_it(
    installation: Installation,
) -> None:
    installation.first_night()
    text = installation.settings.read_text(encoding="utf-8")
    renamed = text.replace('name = "n1"', 'name = "web1"').replace('node = "n1"', 'node = "web1"')
    installation.settings.write_text(renamed, encoding="utf-8")
    installation.read_logs()
    (note,) = installation.flex("-o", "json", "nodes", "list").json["notes"]
    assert note.startswith("n1 is not in the settings any more; ")
    # What was counted of n1 stays n1's: of web1 nothing is known before its log goes on.
    asked = ("-o", "json", "plan", "--as-of", installation.as_of())
    assert installation.flex(*asked).code == 20
    plan = installation.flex(*asked, "--force", "profile.max_age").json
    assert {move["source"] for move in plan["moves"]} >= {"n1"}
    assert plan["before"] is not None
    assert installation.flex("report").code == 0


def test_names_that_are_not_ours_any_more_stop_the_night_and_are_not_said_to_agree(
    installation: Installation,
) -> None:
    installation.first_night()
    serial = installation.serial()
    text = installation.settings.read_text(encoding="utf-8")
    installation.settings.write_text(
        text.replace('name = "test"', 'name = "other"'), encoding="utf-8"
    )
    said = installation.run()
    assert said.code == 3
    assert "none of them is FLEX's to move" in said.err
    assert installation.serial() == serial


def test_a_partition_of_which_nothing_is_in_dns_is_not_said_to_agree(
    installation: Installation,
) -> None:
    text = installation.settings.read_text(encoding="utf-8")
    zones = f'zones = ["{installation.zone}"]'
    installation.settings.write_text(text.replace(zones, "zones = []"), encoding="utf-8")
    installation.first_night()
    said = installation.flex("verify")
    assert said.code == 20
    assert "nothing was checked" in said.err
    assert "agrees" not in said.out + said.err

"""What people order: nodes in and out, a freeze, a yes or a no to a plan, wishes that begin and end
by themselves.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest

from flex.model.limits_and_approvals import Approval
from flex.store import open_store
from flex_api import wiring
from flex_api.night import plan_approvals
from flex_api.settings import file as config

if TYPE_CHECKING:
    from tests.api.conftest import Installation, Said

pytestmark = pytest.mark.real


def plan(installation: Installation) -> Said:
    return installation.flex("-o", "json", "plan", "--as-of", installation.as_of())


def apply(installation: Installation, *arguments: str) -> Said:
    return installation.flex("-o", "json", "apply", "--as-of", installation.as_of(), *arguments)


def set_in(installation: Installation, section: str, line: str) -> None:
    text = installation.settings.read_text(encoding="utf-8")
    installation.settings.write_text(
        text.replace(f"[{section}]\n", f"[{section}]\n{line}\n"), encoding="utf-8"
    )


@pytest.mark.slow
def test_while_changes_are_frozen_nothing_is_applied_until_somebody_says_so_by_name(
    installation: Installation,
) -> None:
    serial = installation.serial()
    assert installation.flex("freeze", "--reason", "the fair").code == 0
    night = installation.night()
    assert (night.code, installation.serial()) == (23, serial)
    refused = installation.flex("-o", "json", "apply", "--as-of", installation.as_of())
    assert refused.code == 23
    assert "changes are frozen (the fair)" in refused.err
    assert '"rule": "freeze"' in refused.err
    assert apply(installation, "--force", "freeze").code == 0
    assert installation.flex("thaw").code == 0
    assert installation.night().code == 0


def test_a_freeze_ends_by_itself(installation: Installation) -> None:
    assert installation.flex("freeze", "--until", "2020-01-01").code == 3
    soon = datetime.now(UTC) + timedelta(hours=1)
    assert installation.flex("freeze", "--until", soon.isoformat()).code == 0
    world = wiring.world(config.load(installation.settings), lambda: soon)
    freeze = world.store.freeze()
    assert freeze is not None
    assert freeze.holds(soon - timedelta(seconds=1))
    assert not freeze.holds(soon)


@pytest.mark.slow
def test_changes_are_made_in_windows_only(installation: Installation) -> None:
    tomorrow = (datetime.now(UTC) + timedelta(days=2)).strftime("%a")
    set_in(installation, "safety", f'windows = ["{tomorrow} 01:00-05:00"]')
    serial = installation.serial()
    night = installation.flex("run", "--as-of", installation.as_of())
    assert (night.code, installation.serial()) == (22, serial)
    assert f"changes may only be made in a window: {datetime.now(UTC):%a}" in night.out
    assert apply(installation).code == 22
    assert apply(installation, "--force", "safety.windows").code == 0


def test_a_rejected_plan_is_never_applied(installation: Installation) -> None:
    made = installation.first_plan()
    wrong = installation.flex(
        "approve", made["id"], "--checksum", "0000", "--as-of", installation.as_of()
    )
    assert (wrong.code, "checksum" in wrong.err) == (22, True)
    said = installation.flex(
        "-o", "json", "reject", made["id"], "--reason", "not today", "--as-of", installation.as_of()
    ).json
    assert (said["state"], said["approvals"][0]["decision"]) == ("discarded", "reject")
    assert "not today" in said["message"]
    assert apply(installation, made["id"]).code == 22


@pytest.mark.slow
def test_with_four_eyes_nobody_approves_what_he_made_himself(installation: Installation) -> None:
    set_in(installation, "safety", "four_eyes = true")
    made = installation.first_plan()
    moment = datetime.fromisoformat(made["created"])
    assert apply(installation, made["id"]).code == 22
    world = wiring.world(config.load(installation.settings), lambda: moment)
    with pytest.raises(Exception, match="made it"):
        plan_approvals.approve(world, made["id"], Approval("approve", made["author"], moment))
    plan_approvals.approve(world, made["id"], Approval("approve", "somebody else", moment))
    assert apply(installation, made["id"]).code == 0


@pytest.mark.slow
def test_a_plan_is_approved_only_while_its_base_is_in_force(installation: Installation) -> None:
    first = installation.first_plan()
    assert (
        installation.flex("sites", "pin", first["moves"][0]["site"], "--min-replicas", "2").code
        == 0
    )
    assert apply(installation, plan(installation).json["id"]).code == 0
    moment = datetime.fromisoformat(first["created"])
    world = wiring.world(config.load(installation.settings), lambda: moment)
    with pytest.raises(Exception, match="was in force"):
        plan_approvals.approve(world, first["id"], Approval("approve", "somebody", moment))


@pytest.mark.slow
def test_of_equal_plans_only_the_newest_waits_but_for_one_that_somebody_said_yes_to(
    installation: Installation,
) -> None:
    first, second = installation.first_plan()["id"], plan(installation).json["id"]
    assert installation.flex("approve", second, "--as-of", installation.as_of()).code == 0
    third = plan(installation).json["id"]
    said = {
        one["id"]: one["state"]
        for one in installation.flex("-o", "json", "plan", "list").json["items"]
    }
    assert said == {first: "discarded", second: "proposed", third: "proposed"}
    assert (
        f"replaced by {second}"
        in installation.flex("-o", "json", "plan", "show", first).json["message"]
    )


@pytest.mark.slow
def test_what_reads_only_the_beginning_of_a_plan_is_no_fault(installation: Installation) -> None:
    made = installation.first_plan()["id"]
    for output in ("table", "json"):
        with installation.process("-o", output, "plan", "show", made) as process:
            assert process.stdout is not None
            assert process.stderr is not None
            process.stdout.close()
            assert (process.wait(timeout=300), process.stderr.read()) == (141, "")


@pytest.mark.slow
def test_a_node_is_added_filled_changed_drained_and_removed(installation: Installation) -> None:
    installation.first_night()
    assert (
        installation.flex("nodes", "add", "n1", "--addresses", "192.0.2.9", "--ram", "8 MiB").code
        == 3
    )
    assert (
        installation.flex("nodes", "add", "n4", "--addresses", "192.0.2.1", "--ram", "8 MiB").code
        == 3
    )
    assert (
        installation.flex("nodes", "add", "n4", "--addresses", "192.0.2.4", "--ram", "much").code
        == 3
    )
    assert (
        installation.flex("nodes", "add", "n4", "--addresses", "192.0.2.4", "--ram", "8 MiB").code
        == 0
    )
    assert "n4" in {move["target"] for move in plan(installation).json["moves"]}
    changed = installation.flex(
        "-o", "json", "nodes", "set", "n4", "--capacity", "0.5", "--ram", "4 MiB"
    ).json
    (row,) = (row for row in changed["items"] if row["node"] == "n4")
    assert (row["capacity_ratio"], row["ram_bytes"], row["from_settings"]) == (0.5, 4 << 20, False)
    assert installation.flex("nodes", "remove", "n1").code == 22
    assert installation.flex("nodes", "remove", "n4").code == 0
    assert "n4" not in {
        row["node"] for row in installation.flex("-o", "json", "nodes", "list").json["items"]
    }


@pytest.mark.slow
def test_a_campaign_begins_and_ends_by_itself(installation: Installation) -> None:
    installation.first_night()
    row = installation.flex("-o", "json", "sites", "list").json["items"][0]
    other = next(node for node in ("n1", "n2", "n3") if node not in row["nodes"])
    times = ("--since", "2099-01-01", "--until", "2099-01-03")
    pinned = installation.flex(
        "-o", "json", "sites", "pin", row["site"], "--nodes", other, *times, "--reason", "sale"
    )
    assert (pinned.code, pinned.json["since"][:10]) == (0, "2099-01-01")
    assert pinned.json["author"]
    (pin,) = open_store(f"sqlite:///{installation.folder}/flex.db").pins()
    assert [pin.holds(datetime(2099, 1, day, tzinfo=UTC)) for day in (1, 2, 3)] == [
        True,
        True,
        False,
    ]
    assert not pin.holds(datetime(2098, 12, 31, tzinfo=UTC))
    assert row["site"] not in {move["site"] for move in plan(installation).json["moves"]}


def test_wishes_that_contradict_each_other_are_refused_by_name(installation: Installation) -> None:
    installation.first_night()
    first, second = (
        row["site"] for row in installation.flex("-o", "json", "sites", "list").json["items"][:2]
    )
    assert installation.flex("sites", "pin", first, "--nodes", "n1").code == 0
    assert (
        installation.flex("sites", "pin", second, "--together", first, "--not-on", "n1").code == 21
    )
    refused = installation.flex(
        "sites", "pin", second, "--nodes", "n2", "--max-replicas", "1", "--together", first
    )
    assert refused.code == 21
    assert first in refused.err
    assert installation.flex("sites", "pin", second, "--weight", "0").code == 3
    assert installation.flex("sites", "pin", second, "--class", "gold").code == 3


@pytest.mark.slow
def test_an_excluded_site_keeps_its_records_and_is_in_no_partition(
    installation: Installation,
) -> None:
    installation.first_night()
    row = installation.flex("-o", "json", "sites", "list").json["items"][0]
    before = installation.addresses(row["site"])
    assert installation.flex("sites", "exclude", row["site"], "--reason", "cancelled").code == 0
    made = plan(installation).json
    assert made["sites"] == 23
    assert row["site"] not in {move["site"] for move in made["moves"]}
    assert apply(installation).code == 0
    assert installation.addresses(row["site"]) == before
    assert installation.flex("sites", "unpin", row["site"]).code == 0
    assert plan(installation).json["sites"] == 24


def test_a_site_that_weighs_more_counts_as_larger(installation: Installation) -> None:
    installation.first_night()
    site = installation.flex("-o", "json", "sites", "list").json["items"][3]["site"]
    plain = installation.flex("-o", "json", "explain", site).json["asks_units"]["access rate"]
    assert installation.flex("sites", "pin", site, "--weight", "2").code == 0
    heavy = installation.flex("-o", "json", "explain", site).json
    assert heavy["asks_units"]["access rate"] * heavy["replicas"] > 1.5 * plain


@pytest.mark.slow
def test_what_is_over_the_limits_of_a_night_is_left_to_the_next_ones(
    installation: Installation,
) -> None:
    installation.first_night()
    set_in(installation, "safety", "max_moved_sites = 3")
    assert installation.flex("nodes", "drain", "n2").code == 0
    first = plan(installation).json
    assert (len({move["site"] for move in first["moves"]}), first["breaches"]) == (3, [])
    assert first["moves_later"] > 0
    whole = installation.flex(
        "-o", "json", "plan", "--as-of", installation.as_of(), "--force", "safety.max_moved_sites",
        "--force", "safety.max_moved_sites_ratio",
    )  # fmt: skip
    assert (whole.json["moves_later"], whole.json["breaches"] != []) == (0, True)
    assert (
        installation.flex("plan", "--force", "safety.nothing", "--as-of", installation.as_of()).code
        == 3
    )

"""Nights of a small cluster through the command line, with real logs on disk and a real name
server.
"""

from __future__ import annotations

import json
import random
import re
import signal
import sqlite3
import subprocess
from dataclasses import replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

import pytest

from flex.model.drains_and_freezes import NodeOrder
from flex.store import open_store
from tests.api.conftest import OWN_NAME

if TYPE_CHECKING:
    from tests.api.conftest import Installation

pytestmark = pytest.mark.real


def lines_counted(installation: Installation) -> int:
    """Requests in the profiles: every counted line of the period once."""
    return sum(
        row["requests"] for row in installation.flex("-o", "json", "sites", "list").json["items"]
    )


@pytest.mark.slow
def test_a_night_places_every_site_in_dns_and_verifies_it(installation: Installation) -> None:
    said = installation.night()
    assert (said.code, said.err) == (0, "")
    plan = said.json["plan"]
    assert (plan["state"], plan["sites"]) == ("applied", 24)
    assert all(verdict["agrees"] and verdict["checked"] == 48 for verdict in plan["verdicts"])
    placed = {
        row["site"]: row["nodes"]
        for row in installation.flex("-o", "json", "sites", "list").json["items"]
    }
    for site, nodes in placed.items():
        assert installation.addresses(site) == [f"192.0.2.{node[1]}" for node in nodes]


def test_a_second_run_with_nothing_new_sends_no_update(installation: Installation) -> None:
    installation.first_night()
    serial = installation.serial()
    again = installation.night()
    assert again.code == 0
    assert again.json["plan"]["moves"] == []
    # A server may keep its serial when it is told what it says already.
    assert [zone["changes"] for zone in again.json["plan"]["zones"]] == [[]]
    assert installation.serial() == serial


@pytest.mark.slow
def test_in_review_mode_a_plan_waits_for_a_yes(installation: Installation) -> None:
    installation.mode = "review"
    installation.write_settings()
    serial = installation.serial()
    assert installation.night().code == 22
    assert installation.serial() == serial
    applied = installation.flex("-o", "json", "apply", "--as-of", installation.as_of())
    assert (applied.code, applied.json["state"]) == (0, "applied")
    assert installation.serial() > serial


@pytest.mark.slow
def test_in_shadow_mode_nothing_is_ever_written(installation: Installation) -> None:
    installation.mode = "shadow"
    installation.write_settings()
    serial = installation.serial()
    installation.first_night()
    refused = installation.flex("apply", "--as-of", installation.as_of())
    assert (refused.code, installation.serial()) == (22, serial)
    assert "shadow" in refused.err


@pytest.mark.slow
def test_a_plan_is_applied_by_its_checksum_or_not_at_all(installation: Installation) -> None:
    plan = installation.first_plan()
    wrong = installation.flex("apply", "--checksum", "0000", "--as-of", installation.as_of())
    assert (wrong.code, "checksum" in wrong.err) == (22, True)
    right = installation.flex(
        "apply", "--checksum", plan["digest"], "--as-of", installation.as_of()
    )
    assert right.code == 0


def test_an_old_plan_is_not_applied_any_more(installation: Installation) -> None:
    installation.first_plan()
    late = installation.flex("apply", "--as-of", "2026-03-05T02:17:00")
    assert (late.code, "flex plan" in late.err) == (22, True)


def moved_by_a_wish(installation: Installation) -> tuple[str, list[str], list[str]]:
    """A site that a night placed and a wish then moved, and its addresses before that and after."""
    return installation.once(move_by_a_wish)


def move_by_a_wish(installation: Installation) -> tuple[str, list[str], list[str]]:
    installation.first_night()
    site = installation.flex("-o", "json", "sites", "list").json["items"][-1]
    other = next(node for node in ("n1", "n2", "n3") if node not in site["nodes"])
    before = installation.addresses(site["site"])
    assert installation.flex("sites", "pin", site["site"], "--nodes", other).code == 0
    installation.flex("plan", "--as-of", installation.as_of())
    assert installation.flex("apply", "--as-of", installation.as_of()).code == 0
    return site["site"], before, [f"192.0.2.{other[1]}"]


@pytest.mark.slow
def test_rollback_puts_the_zone_back_as_it_was(installation: Installation) -> None:
    site, before, after = moved_by_a_wish(installation)
    assert installation.addresses(site) == after
    assert installation.flex("sites", "unpin", site).code == 0
    assert installation.flex("rollback", "--as-of", installation.as_of()).code == 0
    assert installation.addresses(site) == before


def partitions_of(installation: Installation) -> list[str]:
    """The latest first."""
    plans = installation.flex("-o", "json", "plan", "list").json["items"]
    return [plan["id"] for plan in plans if plan["state"] == "applied"]


@pytest.mark.slow
def test_nobody_goes_back_to_what_was_never_in_force(installation: Installation) -> None:
    site, _, after = moved_by_a_wish(installation)
    assert installation.flex("sites", "unpin", site).code == 0
    partitions = partitions_of(installation)
    plan = installation.flex("-o", "json", "plan", "--as-of", installation.as_of()).json["id"]
    assert installation.flex("plan", "discard", plan).code == 0
    said = installation.flex("rollback", "--to", plan, "--as-of", installation.as_of())
    assert (said.code, "it is discarded and was never in force" in said.err) == (3, True)
    assert ", ".join(partitions) in said.err
    assert installation.addresses(site) == after
    assert partitions_of(installation) == partitions


@pytest.mark.slow
def test_a_node_that_is_to_be_empty_before_the_next_night_loses_its_sites_and_nothing_else_moves(
    installation: Installation,
) -> None:
    installation.first_night()
    soon = datetime.fromisoformat(f"{installation.as_of()}+00:00") + timedelta(hours=4)
    open_store(f"sqlite:///{installation.folder}/flex.db").order_node(
        NodeOrder("n2", "draining", deadline=soon)
    )
    plan = installation.flex("-o", "json", "plan", "--as-of", installation.as_of()).json
    assert "n2" not in {load["node"] for load in plan["after"]["nodes"] if load["sites"]}
    assert all(move["target"] != "n2" for move in plan["moves"])


@pytest.mark.slow
def test_without_zones_a_plan_is_made_and_carried_out_on_paper(installation: Installation) -> None:
    text, serial = (installation.settings.read_text(encoding="utf-8"), installation.serial())
    installation.settings.write_text(re.sub(r"\[dns\]\n(.+\n)+?(?=\[)", "", text), encoding="utf-8")
    said = installation.night()
    assert (said.code, said.err) == (0, "")
    assert said.json["plan"]["state"] == "applied"
    assert all(
        row["nodes"] for row in installation.flex("-o", "json", "sites", "list").json["items"]
    )
    assert installation.serial() == serial
    assert "no zone is in the settings" in installation.flex("verify").err


def test_verify_names_what_somebody_else_changed(installation: Installation) -> None:
    installation.first_night()
    site = installation.flex("-o", "json", "sites", "list").json["items"][0]["site"]
    change(installation, site, "198.51.100.9")
    said = installation.flex("-o", "json", "verify")
    assert said.code == 32
    assert any(
        "198.51.100.9" in line for server in said.json["servers"] for line in server["wrong"]
    )
    assert installation.flex("verify", "--detailed-exitcode").code == 10


def change(installation: Installation, site: str, address: str) -> None:
    """What another program with the same right does to a record."""
    import dns.query
    import dns.rdataset
    import dns.update

    update = dns.update.UpdateMessage(installation.zone, keyring=installation.server.key.signer())
    update.replace(f"{site}.", 300, "A", address)
    dns.query.tcp(update, "127.0.0.1", port=installation.server.port, timeout=60)


@pytest.mark.slow
def test_logs_that_nobody_understands_keep_the_old_partition(installation: Installation) -> None:
    installation.first_night()
    serial = installation.serial()
    installation.traffic(2)
    log = max(
        (installation.folder / "logs" / "n2").glob("*.log"), key=lambda path: path.stat().st_size
    )
    with log.open("ab") as file:
        file.write(b"half of a line\n" * 300)
    refused = installation.night(2)
    assert refused.code == 20
    assert all(
        word in refused.err for word in ("the logs of n2", "malformed", "the limit is 5.0 %")
    )
    assert installation.serial() == serial
    installation.extra = "[profile]\nmax_malformed = 0.5\n"
    installation.write_settings()
    assert installation.night(2).code == 0


def test_logs_that_stopped_coming_keep_the_old_partition(installation: Installation) -> None:
    installation.first_night()
    serial = installation.serial()
    said = installation.night(4)
    assert (said.code, installation.serial()) == (20, serial)
    assert "n1" in said.err


def test_logs_of_a_node_that_cannot_be_read_keep_the_old_partition(
    installation: Installation,
) -> None:
    installation.first_night()
    serial = installation.serial()
    installation.traffic(2)
    text = installation.settings.read_text(encoding="utf-8")
    installation.settings.write_text(text.replace("logs/n2/", "logs/elsewhere/"), encoding="utf-8")
    said = installation.night(2)
    assert (said.code, installation.serial()) == (20, serial)
    assert "reading the logs of n2" in said.err


@pytest.fixture
def half_applied(installation: Installation) -> str:
    """The id of a plan that an earlier run began to apply, with nothing of it in DNS yet."""
    plan: str = installation.first_plan()["id"]
    store = open_store(f"sqlite:///{installation.folder}/flex.db")
    store.update(replace(store.plan(plan), state="applying"))
    return plan


def test_reading_logs_does_not_wait_for_a_half_applied_plan(
    installation: Installation, half_applied: str
) -> None:
    serial = installation.serial()
    assert installation.flex("ingest").code == 0
    assert installation.serial() == serial
    assert installation.flex("apply", "--resume").code == 0
    assert installation.serial() != serial


@pytest.mark.slow
def test_a_half_applied_plan_can_be_given_up(installation: Installation, half_applied: str) -> None:
    serial = installation.serial()
    assert installation.flex("apply", "--abandon").code == 0
    assert installation.flex("-o", "json", "plan", "show", half_applied).json["state"] == "failed"
    assert installation.serial() == serial
    installation.first_night()


@pytest.mark.slow
def test_a_rollback_against_a_wish_that_holds_is_applied_only_when_that_is_said(
    installation: Installation,
) -> None:
    site, before, after = moved_by_a_wish(installation)
    back = installation.flex("-o", "json", "rollback", "--as-of", installation.as_of())
    stops = json.loads(back.err)["stops"]
    assert (back.code, [(stop["rule"], site in stop["actual"]) for stop in stops]) == (
        22, [("plan.wishes", True)],
    )  # fmt: skip
    assert installation.addresses(site) == after
    assert (
        installation.flex("apply", "--force", "plan.wishes", "--as-of", installation.as_of()).code
        == 0
    )
    assert installation.addresses(site) == before


@pytest.mark.slow
def test_a_rollback_that_was_only_looked_at_is_not_what_apply_applies(
    installation: Installation,
) -> None:
    installation.first_night()
    site = installation.flex("-o", "json", "sites", "list").json["items"][-1]["site"]
    assert installation.flex("sites", "pin", site, "--min-replicas", "2").code == 0
    installation.flex("plan", "--as-of", installation.as_of())
    assert installation.flex("apply", "--as-of", installation.as_of()).code == 0
    assert installation.flex("rollback", "--dry-run", "--as-of", installation.as_of()).code == 0
    said = installation.flex("apply", "--as-of", installation.as_of())
    assert (said.code, "none waits" in said.err) == (20, True)


@pytest.mark.slow
def test_a_clock_that_ran_ahead_leaves_later_plans_alone(installation: Installation) -> None:
    installation.first_night()
    installation.extra = "[profile]\nmax_age = '60h'\n"
    installation.write_settings()
    ahead = installation.flex("plan", "--as-of", installation.as_of(2))
    assert (ahead.code, "no line" in ahead.err) == (20, True)
    again = installation.night()
    assert (again.code, again.json["plan"]["moves"]) == (0, [])


@pytest.mark.slow
def test_shadow_mode_writes_nothing_to_finish_a_plan(
    installation: Installation, half_applied: str
) -> None:
    serial = installation.serial()
    text = installation.settings.read_text(encoding="utf-8")
    installation.settings.write_text(
        re.sub(r'mode = "\w+"', 'mode = "shadow"', text), encoding="utf-8"
    )
    said = installation.night()
    assert (said.code, installation.serial()) == (0, serial)
    assert installation.flex("-o", "json", "plan", "show", half_applied).json["state"] == "applying"


def test_a_half_applied_plan_and_a_name_server_that_is_away_say_so(
    installation: Installation, half_applied: str, free_port: int
) -> None:
    text = installation.settings.read_text(encoding="utf-8")
    installation.settings.write_text(
        re.sub(r"port = \d+", f"port = {free_port}", text), encoding="utf-8"
    )
    said = installation.night()
    assert (said.code, half_applied in said.err) == (31, True)
    assert lines_counted(installation) > 0


@pytest.mark.slow
def test_a_new_day_is_read_once_and_only_the_new_part(installation: Installation) -> None:
    installation.first_night()
    first = lines_counted(installation)
    assert installation.flex("-o", "json", "ingest").json["lines"].get("counted", 0) == 0
    installation.traffic(2)
    said = installation.night(2)
    assert said.code == 0
    assert 0 < lines_counted(installation) < 2 * first


@pytest.mark.slow
def test_after_the_next_day_a_night_says_how_good_its_prediction_was_and_why(
    installation: Installation,
) -> None:
    first = installation.night().json["plan"]["id"]
    installation.traffic(2)
    said = installation.night(2).json["plan"]["prediction"]
    assert said["plan"] == first
    assert {node["node"] for node in said["served"]} == {row["node"] for row in said["nodes"]}
    for node in said["served"]:
        assert 0 < node["predicted_ratio"] < 3
        assert 0 < node["came_ratio"] < 3
        assert 0 < node["logged_ratio"] < 3, "each node keeps a log of its own here"
        assert 0 <= node["predicted_miss_ratio"] <= 1
    assert 0 <= said["traffic_ratio"] < 1
    assert 0 <= said["model_ratio"] < 1
    assert 0 < said["site_error_ratio"] < 2
    assert said["sites"][0]["expected_bytes"] != said["sites"][0]["measured_bytes"]


@pytest.mark.slow
def test_an_edited_glob_counts_nothing_twice(installation: Installation) -> None:
    installation.first_night()
    before = lines_counted(installation)
    text = installation.settings.read_text(encoding="utf-8")
    installation.settings.write_text(
        text.replace('access.log*"', 'access.log*[!~]"'), encoding="utf-8"
    )
    assert installation.flex("-o", "json", "ingest").json["new_bytes"] == 0
    installation.flex("plan", "--as-of", installation.as_of())
    assert lines_counted(installation) == before


@pytest.mark.torture("15")
@pytest.mark.slow
@pytest.mark.parametrize("kill", [signal.SIGKILL, signal.SIGTERM])
def test_a_run_killed_at_any_point_is_finished_by_the_next(
    installation: Installation, kill: signal.Signals
) -> None:
    """Killed again and again at random moments, the state converges; nothing is counted or applied
    twice.
    """
    moments = random.Random(kill.value)
    for _ in range(2):
        process = installation.process("run", "--as-of", installation.as_of())
        try:
            process.communicate(timeout=moments.uniform(0.8, 2.6))
        except subprocess.TimeoutExpired:
            process.send_signal(kill)
            process.communicate(timeout=300)
    installation.first_night()
    serial = installation.serial()
    placed = {
        row["site"]: row["nodes"]
        for row in installation.flex("-o", "json", "sites", "list").json["items"]
    }
    assert len(placed) == 24
    for site, nodes in placed.items():
        assert installation.addresses(site) == [f"192.0.2.{node[1]}" for node in nodes]
    whole = lines_counted(installation)
    again = installation.night()
    assert (again.code, again.json["plan"]["moves"], installation.serial()) == (0, [], serial)
    assert lines_counted(installation) == whole == counted_afresh(installation)
    database = sqlite3.connect(installation.folder / "flex.db")
    assert database.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    database.close()


def counted_afresh(installation: Installation) -> int:
    """The same logs read by an installation that was never killed."""
    folder = installation.folder
    for name in ("flex.db", "flex.db-wal", "flex.db-shm"):
        (folder / name).unlink(missing_ok=True)
    for path in (folder / "partials").iterdir():
        path.unlink()
    assert installation.flex("db", "upgrade").code == 0
    assert installation.flex("ingest").code == 0
    installation.flex("plan", "--as-of", installation.as_of())
    return lines_counted(installation)


@pytest.mark.slow
def test_a_site_that_is_called_as_its_zone_is_in_dns_after_the_night(
    installation: Installation,
) -> None:
    zone = OWN_NAME
    with (installation.folder / "sites").open("a", encoding="utf-8") as sites:
        sites.write(zone + "\n")
    text, named = (
        installation.settings.read_text(encoding="utf-8"),
        f'zones = ["{installation.zone}"',
    )
    installation.settings.write_text(text.replace(named, f'{named}, "{zone}"'), encoding="utf-8")
    plan = installation.night().json["plan"]
    (own,) = (move for move in plan["moves"] if move["site"] == zone.rstrip("."))
    assert installation.addresses(zone) == [f"192.0.2.{own['target'][1]}"]
    assert installation.ask(zone, "NS").answer
    assert installation.flex("verify").code == 0

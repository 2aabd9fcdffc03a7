"""Bad input gets one clear error: the cause, what stayed as it was, the next step, an exit code
from the table.

Never a traceback, never a change.
"""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from flex_dns.wire.key import make_key

if TYPE_CHECKING:
    from tests.api.conftest import Installation, Said

pytestmark = pytest.mark.real


def clear(said: Said, code: int, *words: str) -> bool:
    """One message of three lines, with the cause in it."""
    assert said.code == code, said.err
    first, unchanged, advice = said.err.strip().splitlines()[-3:]
    assert first.startswith("flex: ")
    assert unchanged.startswith("  unchanged: ")
    assert advice.startswith("  next: ")
    assert "Traceback" not in said.err
    for word in words:
        assert word in said.err
    return True


def rewrite(installation: Installation, old: str, new: str) -> None:
    text = installation.settings.read_text(encoding="utf-8")
    assert old in text
    installation.settings.write_text(text.replace(old, new), encoding="utf-8")


@pytest.mark.slow
def test_a_wrong_key_changes_nothing(installation: Installation) -> None:
    serial = installation.serial()
    key_file = installation.folder / "flex.key"
    key_file.write_text(make_key("flex-update").clause(), encoding="utf-8")
    secret = key_file.read_text(encoding="utf-8").split('"')[3]
    said = installation.run()
    assert clear(said, 30, "key")
    assert secret not in said.err
    assert installation.serial() == serial


def test_a_key_that_everybody_can_read_is_refused(installation: Installation) -> None:
    (installation.folder / "flex.key").chmod(0o644)
    assert clear(installation.run(), 3, "flex.key")


def test_a_missing_key_file_is_named(installation: Installation) -> None:
    (installation.folder / "flex.key").unlink()
    assert clear(installation.run(), 3, "flex.key")


def test_a_server_that_is_not_there_is_named(installation: Installation, free_port: int) -> None:
    rewrite(installation, f"port = {installation.server.port}", f"port = {free_port}")
    assert clear(installation.run(), 30, str(free_port))


def test_a_zone_the_server_does_not_have_is_named(installation: Installation) -> None:
    rewrite(installation, f'zones = ["{installation.zone}"]', 'zones = ["nowhere.example."]')
    assert clear(installation.run(), 30, "nowhere.example.")


def test_an_occupied_port_is_named(installation: Installation) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        listen = f"127.0.0.1:{taken.getsockname()[1]}"
        assert clear(installation.flex("serve", "--listen", listen), 3, listen)


def test_no_logs_at_all(empty: Installation) -> None:
    assert clear(empty.run(), 20)


def test_an_empty_log_is_not_a_cluster_without_visitors(empty: Installation) -> None:
    empty.traffic(requests=0)
    for path in (empty.folder / "logs").rglob("*access.log*"):
        path.write_bytes(b"")
    assert clear(empty.run(), 20)


def test_a_log_that_is_no_log_is_reported_and_left_out(installation: Installation) -> None:
    junk = installation.folder / "logs" / "n1" / "access.log.9"
    junk.write_bytes(os.urandom(100_000))
    said = installation.flex("-o", "json", "ingest")
    outcome = {
        Path(row["path"]).name: row["outcome"]
        for row in said.json["files"]
        if "/n1/" in row["path"]
    }
    assert said.code == 3
    assert "read" not in outcome["access.log.9"].split(":")[0]
    assert outcome["access.log"].startswith("read")


@pytest.mark.skipif(os.geteuid() == 0, reason="root can read every file")
def test_an_unreadable_log_is_reported_and_left_out(installation: Installation) -> None:
    (installation.folder / "logs" / "n1" / "access.log.1").chmod(0)
    said = installation.flex("-o", "json", "ingest")
    assert any(row["outcome"].startswith("unreadable") for row in said.json["files"])


def test_a_folder_in_place_of_a_log_is_reported_and_left_out(installation: Installation) -> None:
    (installation.folder / "logs" / "n1" / "access.log.d").mkdir()
    said = installation.flex("-o", "json", "ingest")
    assert said.code == 0
    assert any(row["outcome"].startswith("unreadable") for row in said.json["files"])


IMPOSSIBLE: tuple[tuple[str, int, str], ...] = (
    ("sites pin nobody.example --nodes n1", 3, "flex sites list"),
    ("sites pin SITE --nodes n9", 3, "n1, n2, n3"),
    ("sites pin SITE", 3, "--nodes"),
    ("sites pin SITE --min-replicas 9", 21, "9 replicas"),
    ("sites pin SITE --nodes n1 --until soon", 3, "soon"),
    ("sites pin SITE --nodes n1 --until 2001-01-01T00:00Z", 3, "past"),
    ("sites pin SITE --nodes n1 --until 9999-12-31T23:59-23:00", 3, "2200-01-01"),
    ("plan --as-of 0001-01-01", 3, "1980-01-01"),
    ("plan --as-of 9999-12-31T23:59:59", 3, "2200-01-01"),
    ("sites unpin SITE", 3, "no pin"),
    ("sites show nobody.example", 3, "nobody.example"),
    ("nodes drain n9", 3, "n9"),
    ("nodes drain n1 --deadline 2001-01-01T00:00Z", 3, "past"),
    ("nodes add n5 --addresses 192.0.2.50 --ram 1GiB --capacity 0", 3, "capacity"),
    ("nodes add n5! --addresses 192.0.2.50 --ram 1GiB", 3, "name"),
    ("token create robot --expires 2001-01-01T00:00Z", 3, "past"),
    ("plan show 20990101", 3, "20990101"),
    ("apply nothing", 3, "nothing"),
    ("rollback", 3, "flex plan list"),
    ("completion tcsh", 3, "bash"),
)


@pytest.mark.slow
def test_a_wish_that_cannot_be_is_refused_and_named(installation: Installation) -> None:
    installation.first_night()
    site = installation.flex("-o", "json", "sites", "list").json["items"][0]["site"]
    before = installation.flex("-o", "json", "sites", "list").out
    for call, code, word in IMPOSSIBLE:
        assert clear(installation.flex(*call.replace("SITE", site).split()), code, word)
    assert installation.flex("-o", "json", "sites", "list").out == before


@pytest.mark.slow
def test_the_last_node_cannot_be_drained(installation: Installation) -> None:
    installation.first_night()
    assert installation.flex("nodes", "drain", "n1").code == 0
    assert installation.flex("nodes", "drain", "n2").code == 0
    assert clear(installation.flex("nodes", "drain", "n3"), 3, "n3")


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (lambda text: text.replace("[cluster]", "[clutser]"), ("did you mean 'cluster'",)),
        (lambda text: text.replace('mode = "auto"', 'mode = "fast"'), ("cluster.mode",)),
        (lambda text: text + "\n[[[", ("not TOML",)),
        (
            lambda text: text.replace("tolerance = 0.15", 'tolerance = 0.15\nengine = "magic"'),
            ("magic", "auto"),
        ),
    ],
)
def test_a_bad_setting_is_named(
    installation: Installation, spoil: Callable[[str], str], words: tuple[str, ...]
) -> None:
    text = installation.settings.read_text(encoding="utf-8")
    installation.settings.write_text(spoil(text), encoding="utf-8")
    assert clear(installation.run(), 3, *words)


def test_a_missing_settings_file_says_how_to_make_one(installation: Installation) -> None:
    installation.settings.unlink()
    assert clear(installation.flex("run"), 3, "flex init")


def test_a_database_that_was_not_made_says_how_to_make_it(installation: Installation) -> None:
    (installation.folder / "flex.db").unlink()
    assert clear(installation.flex("run"), 3, "flex db upgrade")


def test_a_database_out_of_reach_does_not_show_its_password(
    installation: Installation, free_port: int
) -> None:
    url = f"postgresql://flex:hunter2@127.0.0.1:{free_port}/flex"
    installation.settings.write_text(
        installation.settings.read_text(encoding="utf-8") + f'\n[database]\nurl = "{url}"\n',
        encoding="utf-8",
    )
    said = installation.flex("run")
    assert said.code == 25
    assert "hunter2" not in said.err + said.out


@pytest.mark.slow
def test_a_report_that_cannot_be_written_does_not_hide_that_the_plan_is_applied(
    installation: Installation,
) -> None:
    (installation.folder / "reports").write_text("in the way", encoding="utf-8")
    said = installation.run()
    assert clear(said, 24, "is applied; only its report is missing", "flex report")
    assert installation.flex("verify").code == 0


def test_errors_are_json_for_programs(installation: Installation) -> None:
    installation.settings.unlink()
    import json

    said = installation.flex("-o", "json", "run")
    assert json.loads(said.err)["exit_code"] == said.code == 3
    assert said.out == ""


def test_wrong_usage_is_the_shells_own_code(installation: Installation) -> None:
    assert installation.flex("dance").code == 2


def test_a_word_too_many_leads_to_the_options_of_the_verb(installation: Installation) -> None:
    said = installation.flex("sites", "pin", "a.example", "n2")
    assert said.code == 2
    assert "(n2); other values are given by options: --nodes, --min-replicas," in said.err
    # It has none.
    assert "options" not in installation.flex("explain", "a.example", "n2").err.splitlines()[-1]


@pytest.mark.parametrize(
    "wrong",
    [("-o", "json", "plan", "--dance"), ("plan", "--output=json", "--dance"), ("-o", "json", "-x")],
)
def test_wrong_usage_is_one_problem_where_json_is_asked_for(
    installation: Installation, wrong: tuple[str, ...]
) -> None:
    said = installation.flex(*wrong)
    assert (said.code, said.out, json.loads(said.err)["exit_code"]) == (2, "", 2)

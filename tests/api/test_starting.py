"""The first files of an installation: good as they are, never written over."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from flex.errors import BadInput
from flex_api import first_files
from flex_api.settings import file as settings
from flex_dns.wire.key import read_key


def test_what_is_written_is_a_whole_installation(tmp_path: Path) -> None:
    written, kept = first_files.write(tmp_path / "etc")
    assert {path.name for path in written} == {
        "flex.toml",
        "flex.key",
        "flex-transfer.key",
        "named.conf.flex",
        "flex-nightly.service",
        "flex-nightly.timer",
        "flex-api.service",
        "flex-follow.service",
        "flex-count.service",
        "flex-count.timer",
        "flex-alerts.yml",
        "settings.sh",
        "common.sh",
        "databases",
        "files",
        "database",
        "vhost",
        "cron",
    }
    assert kept == []
    assert settings.problems(tmp_path / "etc" / "flex.toml") == ()


def test_the_key_is_good_and_for_its_owner_and_group_alone(tmp_path: Path) -> None:
    first_files.write(tmp_path)
    for file, name in (
        ("flex.key", first_files.KEY_NAME),
        ("flex-transfer.key", first_files.READER_NAME),
    ):
        assert read_key(tmp_path / file).name == name
        assert stat.S_IMODE((tmp_path / file).stat().st_mode) & 0o007 == 0


def test_the_settings_may_hold_a_password_and_are_for_nobody_else(tmp_path: Path) -> None:
    first_files.write(tmp_path)
    assert stat.S_IMODE((tmp_path / "flex.toml").stat().st_mode) & 0o027 == 0
    assert stat.S_IMODE((tmp_path / "flex-nightly.service").stat().st_mode) & 0o004


def test_the_commands_for_sites_that_move_can_be_run_and_what_they_read_cannot(
    tmp_path: Path,
) -> None:
    first_files.write(tmp_path)
    executable = {
        path.name for path in (tmp_path / "hooks").iterdir() if path.stat().st_mode & 0o111
    }
    assert executable == {"files", "database", "vhost", "cron"}
    shipped = Path(__file__).parents[2] / "deploy/hooks"
    assert executable == {path.name for path in shipped.iterdir() if path.stat().st_mode & 0o111}


def test_nothing_is_written_over(tmp_path: Path) -> None:
    (tmp_path / "flex.toml").write_text("mine", encoding="utf-8")
    key = (first_files.write(tmp_path), (tmp_path / "flex.key").read_text(encoding="utf-8"))[1]
    written, kept = first_files.write(tmp_path)
    assert written == []
    assert len(kept) == 18
    assert (tmp_path / "flex.toml").read_text(encoding="utf-8") == "mine"
    assert (tmp_path / "flex.key").read_text(encoding="utf-8") == key


def test_settings_in_etc_keep_their_state_where_services_may_write() -> None:
    assert first_files.state_of(Path("/etc/flex")) == "/var/lib/flex/"
    assert first_files.state_of(Path("/srv/try")) == ""


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(BadInput, match="file"):
        first_files.write(tmp_path / "file" / "etc")

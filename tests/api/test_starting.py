"""The first files of an installation: good as they are, never written over."""

from __future__ import annotations

import grp
import os
import pwd
import stat
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from flex import refuse_root
from flex.errors import BadInput
from flex.store import migrate
from flex_api import first_files
from flex_api.report import page
from flex_api.settings import file as settings
from flex_dns.wire.key import read_key
from flex_logs_ingest.counts import count_files


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


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files to others")
def test_what_root_writes_is_for_the_group_of_the_services_whatever_its_umask_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(first_files, "ACCOUNT", "nogroup")
    before = os.umask(0o077)
    try:
        first_files.write(tmp_path / "etc")
    finally:
        os.umask(before)
    group = grp.getgrnam("nogroup").gr_gid
    modes = {
        path.name: stat.S_IMODE(path.stat().st_mode)
        for path in (tmp_path / "etc", *(tmp_path / "etc").rglob("*"))
        if path.stat().st_gid == group
    }
    assert {name: modes[name] for name in ("etc", "hooks", "flex.toml", "flex.key", "files")} == {
        "etc": 0o750,
        "hooks": 0o750,
        "flex.toml": 0o640,
        "flex.key": 0o640,
        "files": 0o755,
    }
    assert len(modes) == len([*(tmp_path / "etc").rglob("*")]) + 1


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files to others")
def test_a_link_gives_no_file_of_others_away(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(first_files, "ACCOUNT", "nogroup")
    secret = tmp_path / "secret"
    for target in (secret, tmp_path / "nowhere"):
        secret.touch(0o600)
        folder = tmp_path / f"to-{target.name}"
        folder.mkdir()
        (folder / "flex.key").symlink_to(target)
        with suppress(BadInput):
            first_files.write(folder)
        assert (secret.stat().st_gid, stat.S_IMODE(secret.stat().st_mode)) == (0, 0o600)
        assert not secret.read_text(encoding="utf-8")
        assert not (tmp_path / "nowhere").exists()


def make_database(folder: Path) -> None:
    migrate.upgrade(f"sqlite:///{folder}/flex.db")


def count(folder: Path) -> None:
    with count_files.hold_directory(folder / "counts"):
        pass


def report(folder: Path) -> None:
    page.put("<html>", folder / "reports" / "report.html")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root makes what others cannot open")
@pytest.mark.parametrize("make", [make_database, count, report])
def test_root_makes_nothing_that_the_services_could_not_open(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, make: Callable[[Path], None]
) -> None:
    monkeypatch.setattr(refuse_root, "ACCOUNT", "nobody")
    monkeypatch.setattr(sys, "argv", ["/usr/sbin/flex", "--config", "a b.toml", "run"])
    os.chown(tmp_path, pwd.getpwnam("nobody").pw_uid, -1)
    with pytest.raises(BadInput, match="as root: ") as refused:
        make(tmp_path)
    assert refused.value.advice.endswith("`runuser -u nobody -- flex --config 'a b.toml' run`")
    assert [*tmp_path.iterdir()] == []
    # In a folder of its own root makes what it likes, and goes on with what is there.
    os.chown(tmp_path, 0, -1)
    make(tmp_path)
    for path in (tmp_path, *tmp_path.rglob("*")):
        os.chown(path, pwd.getpwnam("nobody").pw_uid, -1)
    make(tmp_path)
    # A database's files are SQLite's to give away; of counts everybody may take what is read.
    mine = [path for path in tmp_path.rglob("*.html") if path.stat().st_uid == 0]
    assert mine == []


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

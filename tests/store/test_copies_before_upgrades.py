"""A database is copied before an upgrade changes it, and never in part: SQLite by itself,
PostgreSQL by its own pg_dump.
"""

from __future__ import annotations

import shutil
import stat
import subprocess
from datetime import UTC, datetime
from pathlib import Path

import pytest
from sqlalchemy import make_url

from flex.errors import BadInput, StoreError
from flex.store import migrate, migration_files, postgresql_engine
from flex_api import cli
from tests.postgresql import Cluster

NOW = datetime(2026, 11, 26, 13, 0, tzinfo=UTC)
NEWEST = migration_files.head()
needs_pg_dump = pytest.mark.skipif(not shutil.which("pg_dump"), reason="pg_dump is not installed")
OLDER = ["0017", "0021", "0026"]


def can_copy(url: str) -> None:
    if url.startswith("postgresql") and not shutil.which("pg_dump"):
        pytest.skip("pg_dump is not installed")


def read_back(copy: Path, cluster: Cluster | None) -> str:
    """The URL of a database made from the copy."""
    if copy.suffix == ".db":
        return f"sqlite:///{copy}"
    assert cluster
    url = cluster.new_database()
    subprocess.run(
        ["pg_restore", "--no-owner", "--exit-on-error", f"--dbname={url}", str(copy)], check=True
    )
    return url


@pytest.mark.slow("postgresql-0026", "postgresql-0021")
@pytest.mark.parametrize("revision", OLDER)
def test_an_older_database_is_copied_as_it_was(
    empty_url: str, revision: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    can_copy(empty_url)
    migrate.upgrade(empty_url, revision)
    copies = tmp_path / "copies"
    copies.mkdir()
    copy = migrate.copy_before(empty_url, copies, NOW)
    assert copy
    assert copy.name.startswith(f"flex-{revision}-20261126T130000Z.")
    assert stat.S_IMODE(copy.stat().st_mode) & 0o077 == 0
    assert [*copies.iterdir()] == [copy]
    migrate.upgrade(empty_url)
    is_file = copy.suffix == ".db"
    again = read_back(copy, None if is_file else request.getfixturevalue("cluster"))
    assert migrate.revision(again) == (revision, NEWEST)
    migrate.upgrade(again)


def test_what_no_upgrade_changes_is_not_copied(empty_url: str, tmp_path: Path) -> None:
    copies = tmp_path / "copies"
    copies.mkdir()
    assert migrate.copy_before(empty_url, copies, NOW) is None
    migrate.upgrade(empty_url)
    assert migrate.copy_before(empty_url, copies, NOW) is None
    assert [*copies.iterdir()] == []


@pytest.mark.slow("postgresql-0026", "postgresql-0021")
@pytest.mark.parametrize("revision", OLDER)
def test_without_the_copy_that_was_asked_for_the_database_stays_as_it_is(
    empty_url: str, revision: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    migrate.upgrade(empty_url, revision)
    settings = tmp_path / "flex.toml"
    settings.write_text(
        'schema = 1\n[[node]]\nname = "n1"\nram = "1 GiB"\naddresses = ["192.0.2.1"]\n'
        f'[database]\nurl = "{empty_url}"\n'
    )
    nowhere = str(tmp_path / "nowhere")
    words = ["--config", str(settings), "db", "upgrade", "--backup-to", nowhere]
    assert cli.run(words) in {BadInput.exit_code, StoreError.exit_code}
    assert "unchanged: " in capsys.readouterr().err
    assert migrate.revision(empty_url)[0] == revision
    can_copy(empty_url)
    (tmp_path / "nowhere").mkdir()
    assert cli.run(words) == 0
    assert migrate.revision(empty_url)[0] == NEWEST
    assert len([*(tmp_path / "nowhere").iterdir()]) == 1


def test_only_what_exists_is_upgraded_where_that_is_asked_for(tmp_path: Path) -> None:
    settings = tmp_path / "flex.toml"
    settings.write_text(
        'schema = 1\n[[node]]\nname = "n1"\nram = "1 GiB"\naddresses = ["192.0.2.1"]\n'
        '[database]\nurl = "sqlite:///flex.db"\n'
    )
    words = ["--config", str(settings), "db", "upgrade"]
    assert cli.run([*words, "--only-existing"]) == 0
    assert not (tmp_path / "flex.db").exists()
    assert cli.run(words) == 0
    assert (tmp_path / "flex.db").exists()


@pytest.mark.real
@needs_pg_dump
def test_a_copy_of_postgresql_replaces_none_and_leaves_no_part(
    cluster: Cluster, tmp_path: Path
) -> None:
    url = cluster.new_database()
    path = tmp_path / "copy.dump"
    migrate.backup(url, path)
    before = path.read_bytes()
    with pytest.raises(BadInput, match="exists already"):
        migrate.backup(url, path)
    gone = str(make_url(url).set(database="no_such_database"))
    with pytest.raises(BadInput, match="no_such_database"):
        migrate.backup(gone, tmp_path / "other.dump")
    assert [*tmp_path.iterdir()] == [path]
    assert path.read_bytes() == before


@pytest.mark.parametrize("password", ["plain", "a:b", "back\\slash", "it's a p@ss"])
def test_no_password_stands_on_a_command_line(password: str, tmp_path: Path) -> None:
    url = make_url("postgresql://flex@db.example.org:5433/flex?sslmode=require")
    address = postgresql_engine._address(url.set(password=password), tmp_path)
    assert password not in address
    assert "sslmode=require" in address
    (passwords,) = tmp_path.iterdir()
    assert stat.S_IMODE(passwords.stat().st_mode) == 0o600
    fields = passwords.read_text().strip()
    assert fields.startswith("*:*:*:*:")
    # As libpq reads it: a backslash keeps what follows.
    said = fields.removeprefix("*:*:*:*:").replace("\\:", ":").replace("\\\\", "\\")
    assert said == password

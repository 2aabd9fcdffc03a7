"""The door to the database: what is let in, what is refused, and what a refusal says and keeps to
itself.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from unittest.mock import Mock

import pytest
from sqlalchemy import insert, make_url, text

from flex.errors import BadInput, Busy, FlexError, StoreError
from flex.model.wish import Pin
from flex.store import Store, migrate, open_store, schema, sqlite_engine
from flex.store.database_by_url import Database

NOW = datetime(2026, 3, 1, tzinfo=UTC)
SECRET = "s3cret"


def refusal(of: Callable[[], object]) -> FlexError:
    with pytest.raises(FlexError) as refused:
        of()
    error = refused.value
    assert error.kept
    assert error.advice
    assert SECRET not in f"{error} {error.kept} {error.advice}"
    return error


def test_a_database_before_its_first_migration_is_refused(empty_url: str) -> None:
    database = Database(empty_url)
    database.kind.create(database.url)
    database.close()
    error = refusal(lambda: open_store(empty_url))
    assert isinstance(error, BadInput)
    assert "flex db upgrade" in error.advice


def test_a_missing_file_is_not_made_by_opening_it(tmp_path: Path) -> None:
    error = refusal(lambda: open_store(f"sqlite:///{tmp_path}/flex.db"))
    assert isinstance(error, BadInput)
    assert "flex db upgrade" in error.advice
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_is_no_database_is_refused_and_kept(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("precious " * 1000)
    assert "not a database" in str(refusal(lambda: open_store(f"sqlite:///{path}")))
    assert "not a database" in str(refusal(lambda: migrate.upgrade(f"sqlite:///{path}")))
    assert path.read_text() == "precious " * 1000


def test_a_folder_is_no_database(tmp_path: Path) -> None:
    assert isinstance(refusal(lambda: open_store(f"sqlite:///{tmp_path}")), StoreError)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_file_that_cannot_be_written_is_refused(tmp_path: Path, sqlite_template: Path) -> None:
    path = Path(shutil.copy(sqlite_template, tmp_path / "flex.db"))
    path.chmod(0o400)
    assert "cannot be written" in str(refusal(lambda: open_store(f"sqlite:///{path}")))


@pytest.mark.parametrize(
    "url",
    [
        "",
        "flex.db",
        f"mysql://flex:{SECRET}@db.example.org/flex",
        f"postgresql://flex:{SECRET}/@x@db.example.org:{SECRET}/flex",
        f"postgresql://flex:{SECRET}@db.example.org:99999999/flex",
        "sqlite://",
        "sqlite:///:memory:",
        "sqlite:///file:flex.db?mode=memory&uri=true",
    ],
)
def test_a_url_that_names_no_database_is_refused(url: str) -> None:
    refusal(lambda: open_store(url))


@pytest.mark.parametrize("options", ["", f"?password={SECRET}"])
@pytest.mark.parametrize("scheme", ["postgresql", "postgresql+psycopg"])
def test_a_server_that_does_not_answer_is_named_without_the_password(
    free_port: int, scheme: str, options: str
) -> None:
    url = f"{scheme}://flex:{SECRET}@127.0.0.1:{free_port}/flex{options}"
    error = refusal(lambda: open_store(url))
    assert isinstance(error, StoreError)
    assert f"127.0.0.1:{free_port}/flex" in str(error)


@pytest.mark.real
def test_a_missing_database_on_the_server_is_refused(postgresql_url: str) -> None:
    url = postgresql_url.replace("/flex_", "/no_such_")
    assert "does not exist" in str(refusal(lambda: open_store(url)))
    assert "does not exist" in str(refusal(lambda: migrate.upgrade(url)))


@pytest.mark.real
def test_a_server_that_takes_no_writes_is_refused(postgresql_url: str) -> None:
    read_only = f"{postgresql_url}&options=-c%20default_transaction_read_only%3Don"
    assert "takes no writes" in str(refusal(lambda: open_store(read_only)))


def test_a_writer_that_waits_too_long_is_told_so(url: str) -> None:
    writes = Database(url)
    with (
        Store(writes) as store,
        Store(Database(url, patience=0.05)) as waits,
        writes.writing(),
    ):
        error = refusal(lambda: waits.put_pin(Pin("a.example.org")))
        assert isinstance(error, Busy)
        assert store.pins() == waits.pins() == ()


def set_and_be_interrupted(database: Database) -> None:
    with database.writing() as connection:
        connection.execute(
            insert(schema.node_orders),
            {"node": "n1", "state": "down", "reason": "", "author": "", "without_content": False},
        )
        raise KeyboardInterrupt


def test_a_transaction_that_fails_leaves_nothing(url: str) -> None:
    database = Database(url)
    with Store(database) as store:
        with pytest.raises(KeyboardInterrupt):
            set_and_be_interrupted(database)
        assert store.node_orders() == ()


def test_a_reader_sees_one_moment_while_others_write(url: str) -> None:
    database = Database(url)
    with Store(database) as reads, open_store(url) as writes, database.reading() as connection:
        count = text("SELECT count(*) FROM pins")
        assert connection.scalar(count) == 0
        writes.put_pin(Pin("a.example.org"))
        assert connection.scalar(count) == 0
        # What else is read meanwhile is of that moment too.
        assert reads.pins() == ()
        assert len(writes.pins()) == 1


def test_a_plan_that_another_version_wrote_is_told_from_a_bug(url: str) -> None:
    database = Database(url)
    figures = {"sites": 0, "moves": 0, "scratch_moves": 0, "worst": 0.0}
    row = {
        "id": "c1",
        "created": NOW,
        "state": "applied",
        "digest": "",
        "base": "",
        "author": "",
        "body": '[{"id": "c1"}]',
        **figures,
    }
    with Store(database) as store:
        with database.writing() as connection:
            connection.execute(insert(schema.plans), row)
        assert "version" in refusal(lambda: store.plan("c1")).advice


def test_a_database_that_may_not_grow_is_told_as_full(
    tmp_path: Path, sqlite_template: Path
) -> None:
    path = tmp_path / "flex.db"
    shutil.copy(sqlite_template, path)
    database = Database(f"sqlite:///{path}")

    def grow() -> None:
        with database.writing() as connection:
            connection.execute(text("PRAGMA max_page_count = 1"))
            connection.execute(text("CREATE TABLE more AS SELECT zeroblob(100000)"))

    error = refusal(grow)
    database.close()
    assert "its disk is full" in str(error)
    assert "make room" in error.advice


@pytest.mark.parametrize(("free", "is_full"), [(0, True), (10, True), (1_000, False)])
def test_what_could_not_be_written_is_told_as_full_where_there_is_no_room(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, free: int, is_full: bool
) -> None:
    error = sqlite3.OperationalError("disk I/O error")
    error.sqlite_errorcode = sqlite3.SQLITE_IOERR_SHMSIZE
    monkeypatch.setattr(os, "statvfs", lambda _: Mock(f_bavail=free, f_frsize=4096))
    assert sqlite_engine.is_full(make_url(f"sqlite:///{tmp_path}/flex.db"), error) == is_full

"""Stores to test: one of each kind, with a private PostgreSQL cluster that lives as long as the
tests.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import delete, update

from flex.model.audit_chain import NOTHING
from flex.store import Store, migrate, open_store, schema
from flex.store.database_by_url import KINDS, Database
from tests.postgresql import Cluster
from tests.store.tampering import unguarded


@pytest.fixture(scope="session")
def postgresql_url(cluster: Cluster) -> str:
    """One database for all tests: making one takes longer than most tests. Ask for `url`, which
    empties it first.
    """
    url = cluster.new_database()
    migrate.upgrade(url)
    return url


def emptied(url: str) -> str:
    database = Database(url)
    with unguarded(database) as connection:
        connection.execute(update(schema.in_force).values(cycle=None))
        connection.execute(
            update(schema.lease).values(run=None, since=None, expires=None, waiting=False)
        )
        connection.execute(update(schema.audit_head).values(number=0, hash=NOTHING))
        for table in reversed(schema.metadata.sorted_tables):
            if table not in (schema.in_force, schema.lease, schema.installation, schema.audit_head):
                connection.execute(delete(table))
    database.close()
    return url


@pytest.fixture(scope="session")
def sqlite_template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("template") / "flex.db"
    migrate.upgrade(f"sqlite:///{path}")
    return path


def databases() -> list[object]:
    return [
        pytest.param(kind, marks=[pytest.mark.real] if kind != "sqlite" else []) for kind in KINDS
    ]


@pytest.fixture(params=databases())
def empty_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A database without tables; for SQLite, a file that is still to be made."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/flex.db"
    cluster: Cluster = request.getfixturevalue("cluster")
    return cluster.new_database()


def migrated(kind: str, request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if kind == "sqlite":
        shutil.copy(request.getfixturevalue("sqlite_template"), tmp_path / "flex.db")
        return f"sqlite:///{tmp_path}/flex.db"
    return emptied(request.getfixturevalue("postgresql_url"))


@pytest.fixture(params=databases())
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A database at the newest revision."""
    return migrated(request.param, request, tmp_path)


@pytest.fixture
def hostile() -> tuple[str, ...]:
    """Names that logs can bring, each another one."""
    return (
        "",
        " ",
        "%",
        "_",
        "a'; DROP TABLE placements; --",
        "line\nline\ttab",
        "İstanbul.example.org",
        "\u2028\u202e\ufeff",
        "\U0001f600.example.org",
        "A.example.org",
        "a.example.org",
        "long-" + "".join(map(str, range(3000))),
    )


@pytest.fixture(params=databases())
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    """Every kind of store, empty."""
    with open_store(migrated(request.param, request, tmp_path)) as opened:
        yield opened

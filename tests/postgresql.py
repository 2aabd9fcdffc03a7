"""A private PostgreSQL server for tests, that lives as long as they do."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

import psycopg
import pytest
from psycopg import sql
from sqlalchemy import URL

START_SECONDS = 300
LOCK_SECONDS = 300


@dataclass(frozen=True)
class Cluster:
    """A server that listens on one Unix socket and nowhere else, and forgets everything at the
    end.
    """

    sockets: Path
    numbers: Iterator[int] = field(default_factory=count)

    def url(self, database: str) -> str:
        url = URL.create("postgresql", "flex", database=database, query={"host": str(self.sockets)})
        return url.render_as_string(hide_password=False)

    def new_database(self) -> str:
        name = f"flex_{next(self.numbers)}"
        with psycopg.connect(self.url("postgres"), autocommit=True) as connection:
            connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
        return self.url(name)


def binaries() -> Path | None:
    """Where the server's own programs are: Debian keeps them out of the path."""
    debian = sorted(
        Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: int(path.parts[4])
    )
    found = shutil.which("initdb") or (debian[-1] if debian else None)
    return Path(found).resolve().parent if found else None


def start(programs: Path, folder: Path) -> Callable[[], None]:
    """Start a server in the folder; what comes back stops that one."""
    # The server refuses to run as root; nobody else can become another user.
    user = "postgres" if os.geteuid() == 0 else None
    if user:
        shutil.chown(folder, user)
    data = str(folder / "data")

    def run(program: str, *arguments: str) -> None:
        command = [str(programs / program), "-D", data, *arguments]
        # Not into a pipe: the server inherits it, and it would never end.
        with (folder / "tests.log").open("a") as log:
            subprocess.run(
                command,
                check=True,
                user=user,
                cwd=folder,
                stdout=log,
                stderr=log,
                stdin=subprocess.DEVNULL,
                timeout=START_SECONDS,
            )

    run(
        "initdb",
        "--username=flex",
        "--auth=trust",
        "--encoding=UTF8",
        "--locale=C.UTF-8",
        "--no-sync",
    )
    # Who waits for a lock that nobody gives back hears so, and which statement it was.
    limits = (
        f"-c lock_timeout={LOCK_SECONDS}s -c idle_in_transaction_session_timeout={LOCK_SECONDS}s"
    )
    options = f"-k {folder} -c listen_addresses= -c fsync=off -c max_connections=50 {limits}"
    run("pg_ctl", "start", "--wait", "--log", str(folder / "server.log"), "--options", options)
    return lambda: run("pg_ctl", "stop", "--wait", "--mode=immediate")


@pytest.fixture(scope="session")
def cluster() -> Iterator[Cluster]:
    programs = binaries()
    if programs is None:
        pytest.skip("PostgreSQL's server programs are not installed (Debian: postgresql)")
    with ExitStack() as later:
        # A socket's path holds about a hundred characters, so it does not go below the tests' own
        # folder.
        folder = Path(later.enter_context(tempfile.TemporaryDirectory(prefix="flex-pg-")))
        later.callback(start(programs, folder))
        yield Cluster(folder)

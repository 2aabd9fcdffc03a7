"""PostgreSQL: how a connection is set up, and what is left to PostgreSQL's own tools.

A copy is made by `pg_dump`: it appears whole or not at all, and `pg_restore` takes it. Other users
of this machine do not see the password of the URL.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from functools import partial
from pathlib import Path

import psycopg
from sqlalchemy import URL, Connection, Engine, create_engine, event, text

from flex.errors import BadInput, StoreError

# Any number, as long as every FLEX uses the same: writers of one database take turns, as they do
# with SQLite. So what a transaction reads before it writes stays true until it ends, and no
# statement needs to be clever.
WRITERS = 0x466C6578

# Seconds that a connection may take to come about. A guess.
CONNECT_SECONDS = 10


def connect(url: URL, patience: float) -> Engine:
    engine = create_engine(
        url,
        hide_parameters=True,
        pool_pre_ping=True,
        connect_args={"connect_timeout": CONNECT_SECONDS},
    )
    event.listen(engine, "begin", partial(_begin, patience))
    return engine


def _begin(patience: float, connection: Connection) -> None:
    if connection.get_execution_options().get("writes"):
        connection.exec_driver_sql(f"SET LOCAL lock_timeout = {patience * 1000:.0f}")
        connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({WRITERS})")
    else:
        # What several statements read belongs to one moment.
        connection.exec_driver_sql("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")


class WriteWatch:
    """A question to a server costs as much as what it would save."""

    def __init__(self, _url: URL) -> None: ...

    def stamp(self) -> int | None:
        return None

    def close(self) -> None: ...


def check_references(_connection: Connection) -> None:
    """PostgreSQL alters tables in place, and checks each statement itself."""


def is_full(_url: URL, error: BaseException) -> bool:
    return isinstance(error, psycopg.errors.DiskFull)


def is_busy(error: BaseException) -> bool:
    return isinstance(error, psycopg.errors.LockNotAvailable)


def exists(_url: URL) -> bool:
    """Whether a connection is worth trying: a server says by itself that a database is missing."""
    return True


def check(engine: Engine) -> None:
    """Raises StoreError for a server that takes no writes, such as a standby."""
    with engine.connect() as connection:
        if connection.scalar(
            text(
                "SELECT pg_is_in_recovery() OR "
                "current_setting('default_transaction_read_only')::bool"
            )
        ):
            raise StoreError(
                f"the database {engine.url.database} on {engine.url.host or 'this host'}",
                "it takes no writes",
                advice="name the primary server, not a standby, in url in [database]",
            )


def create(_url: URL) -> None:
    """Databases are made by the administrator of the server: `createdb flex`."""


def backup(url: URL, path: Path) -> None:
    program = shutil.which("pg_dump")
    if program is None:
        raise _no_copy(url, "PostgreSQL is copied by its own tools, and pg_dump is not here")
    if path.exists():
        raise _no_copy(url, f"{path} exists already")
    part = path.with_name(f"{path.name}.part")
    try:
        with tempfile.TemporaryDirectory(prefix="flex-pg-") as folder:
            _dump(program, url, part, Path(folder))
            part.replace(path)
    except OSError as error:
        raise _no_copy(url, f"{path} cannot be written: {error.strerror}") from error
    finally:
        part.unlink(missing_ok=True)


def _dump(program: str, url: URL, part: Path, folder: Path) -> None:
    os.close(os.open(part, os.O_CREAT | os.O_TRUNC | os.O_WRONLY, 0o600))
    ended = subprocess.run(  # noqa: S603 - no shell, and no option can stand in a URL
        [
            *(program, "--format=custom", "--no-password"),
            *(f"--file={part}", f"--dbname={_address(url, folder)}"),
        ],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    if ended.returncode:
        lines = ended.stderr.strip().splitlines() or ["it says nothing"]
        raise _no_copy(url, f"pg_dump ended with {ended.returncode}: {lines[0][:300]}")


def _address(url: URL, folder: Path) -> str:
    """A command line is there for all to read: the password is in a file of this user's."""
    more = {"connect_timeout": str(CONNECT_SECONDS)}
    if url.password is not None:
        passwords = folder / "passwords"
        safe = str(url.password).replace("\\", "\\\\").replace(":", "\\:")
        passwords.write_text(f"*:*:*:*:{safe}\n", encoding="utf-8")
        passwords.chmod(0o600)
        more["passfile"] = str(passwords)
    bare = URL.create(
        "postgresql",
        url.username,
        host=url.host,
        port=url.port,
        database=url.database,
        query=url.query,
    )
    return bare.update_query_dict(more).render_as_string(hide_password=False)


def _no_copy(url: URL, answer: str) -> BadInput:
    return BadInput(
        f"a copy of the database {url.database}",
        answer,
        kept="nothing was written",
        advice="install postgresql-client, choose a new name for the copy, or run "
        f"`pg_dump --format=custom --file=flex.dump {url.database}` yourself",
    )

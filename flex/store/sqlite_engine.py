"""SQLite: how a connection is set up, when a file can be used, and how a file is made and copied.

With write-ahead logging, readers go on while one process writes. With full synchronisation, a
commit survives a power cut.
"""

from __future__ import annotations

import os
import sqlite3
import threading
from contextlib import closing
from pathlib import Path
from urllib.parse import quote

from sqlalchemy import URL, Connection, Engine, create_engine, event
from sqlalchemy.engine.interfaces import DBAPIConnection
from sqlalchemy.pool import ConnectionPoolEntry, QueuePool

from flex.errors import BadInput, StoreError
from flex.refuse_root import refuse_root

# Fewer bytes are no room to write into.
LITTLE = 2**17
SETTINGS = ("foreign_keys = ON", "journal_mode = WAL", "synchronous = FULL")


def connect(url: URL, patience: float) -> Engine:
    """Raises BadInput for a URL with options. What is in memory goes with its one connection, for
    which threads wait.
    """
    if _is_in_memory(url):
        engine = create_engine(
            url,
            hide_parameters=True,
            connect_args={"check_same_thread": False},
            poolclass=QueuePool,
            pool_size=1,
            max_overflow=0,
            pool_timeout=patience,
        )
        event.listen(engine, "connect", _sort_in_memory)
    else:
        _path(url)
        engine = create_engine(url, hide_parameters=True, connect_args={"timeout": patience})
    event.listen(engine, "connect", _set_up)
    event.listen(engine, "begin", _begin)
    return engine


def _set_up(connection: DBAPIConnection, _entry: ConnectionPoolEntry) -> None:
    # The driver would begin transactions by itself, only before writes, and none before a change of
    # schema.
    connection.isolation_level = None
    cursor = connection.cursor()
    for setting in SETTINGS:
        cursor.execute(f"PRAGMA {setting}")
    cursor.close()


def _sort_in_memory(connection: DBAPIConnection, _entry: ConnectionPoolEntry) -> None:
    cursor = connection.cursor()
    cursor.execute("PRAGMA temp_store = MEMORY")
    cursor.close()


def _begin(connection: Connection) -> None:
    """A writer takes the lock at once: had it read before, another's commit in between would fail
    it at its first write, without waiting.

    A table that is altered is made anew under another name: what points to its rows would go with
    the old one. Nothing is said of references before a transaction that `rebuilds` is ready to end.
    """
    if connection.get_execution_options().get("rebuilds"):
        connection.exec_driver_sql("PRAGMA foreign_keys = OFF")
    connection.exec_driver_sql(
        "BEGIN IMMEDIATE" if connection.get_execution_options().get("writes") else "BEGIN"
    )


def check_references(connection: Connection) -> None:
    """Raises StoreError where a row points to one that is not there."""
    if broken := connection.exec_driver_sql("PRAGMA foreign_key_check").all():
        tables = ", ".join(sorted({f"{row[0]} to {row[2]}" for row in broken}))
        raise StoreError(
            f"upgrading the database {connection.engine.url.database}",
            f"rows would point to nothing: {tables}",
            advice="restore a backup, or report this as a bug of FLEX",
        )


def is_busy(error: BaseException) -> bool:
    return (
        isinstance(error, sqlite3.OperationalError)
        and error.sqlite_errorcode & 0xFF == sqlite3.SQLITE_BUSY
    )


def is_full(url: URL, error: BaseException) -> bool:
    """Where the index beside the file can not grow, SQLite knows no better than that it could not
    write.
    """
    code = error.sqlite_errorcode & 0xFF if isinstance(error, sqlite3.OperationalError) else None
    if code == sqlite3.SQLITE_IOERR:
        room = os.statvfs(_path(url).parent)
        return room.f_bavail * room.f_frsize < LITTLE
    return code == sqlite3.SQLITE_FULL


def exists(url: URL) -> bool:
    return _path(url).exists()


def check(engine: Engine) -> None:
    """Raises BadInput or StoreError for a file that cannot be used."""
    path = _path(engine.url)
    if not path.exists():
        raise _missing(path)
    # The log and its index are made beside the file, so its folder counts too.
    for place in (path, path.parent):
        if not os.access(place, os.W_OK):
            raise _unwritable(path, f"{place} cannot be written by this user")


def create(url: URL) -> None:
    """Make an empty file that only its owner can read; one that is there already is left alone.
    Raises BadInput where it cannot be made, or not by root.
    """
    path = _path(url)
    refuse_root(path)
    try:
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    except FileExistsError:
        return
    except FileNotFoundError as error:
        raise _unwritable(path, f"the folder {path.parent} does not exist") from error
    except OSError as error:
        raise _unwritable(path, str(error.strerror)) from error


def backup(url: URL, path: Path) -> None:
    """Copy the database as it is at one moment, while others go on using it; the copy appears whole
    or not at all.
    """
    source, part = _path(url), path.with_name(f"{path.name}.part")
    if not source.exists():
        raise _missing(source)
    if path.exists():
        raise _no_backup(
            source, path, "it exists already", "choose another name, or take that file away"
        )
    try:
        os.close(os.open(part, os.O_CREAT | os.O_TRUNC | os.O_WRONLY, 0o600))
    except OSError as error:
        raise _no_backup(
            source, path, str(error.strerror), "make the folder, writable for this user"
        ) from error
    try:
        _copy(source, part)
        part.replace(path)
    except (sqlite3.Error, OSError) as error:
        part.unlink(missing_ok=True)
        raise _no_backup(
            source, path, str(error), "check the database and the free space beside the copy"
        ) from error


def _copy(source: Path, part: Path) -> None:
    with closing(sqlite3.connect(source)) as old, closing(sqlite3.connect(part)) as new:
        old.backup(new)
        # One file that is complete by itself, with no log beside it.
        new.execute("PRAGMA journal_mode = DELETE")


class WriteWatch:
    """Tells whether anybody has written since, for a thirtieth of what the smallest question costs.

    It has a connection of its own, which never writes: SQLite counts what all the others committed.
    """

    def __init__(self, url: URL) -> None:
        self._path = None if _is_in_memory(url) else _path(url)
        self._lock = threading.Lock()
        self._connection: sqlite3.Connection | None = None

    def stamp(self) -> int | None:
        """None where the file cannot be read: reading it says why. None in memory."""
        if self._path is None:
            return None
        with self._lock:
            try:
                if self._connection is None:
                    self._connection = self._open()
                # All rows: a question that is not read to its end would hold the log back.
                return int(self._connection.execute("PRAGMA data_version").fetchall()[0][0])
            except sqlite3.Error:
                return None

    def close(self) -> None:
        with self._lock:
            if self._connection is not None:
                self._connection.close()
            self._connection = None

    def _open(self) -> sqlite3.Connection:
        # Not made where it is missing.
        address = f"file:{quote(str(self._path))}?mode=rw"
        return sqlite3.connect(address, uri=True, isolation_level=None, check_same_thread=False)


def _is_in_memory(url: URL) -> bool:
    return url.database is None and not url.query


def _path(url: URL) -> Path:
    """Raises BadInput for a URL that names no file: what is in memory is forgotten, and no other
    process sees it.
    """
    if url.database in (None, "", ":memory:") or url.query:
        raise BadInput(
            f"the database {url.render_as_string()}",
            "it names no file",
            kept="nothing was opened",
            advice="write sqlite:////var/lib/flex/flex.db, with as many slashes as the path needs",
        )
    return Path(str(url.database))


def _missing(path: Path) -> BadInput:
    return BadInput(
        f"the database {path}",
        "the file does not exist",
        kept="nothing was made",
        advice="make it with `flex db upgrade`, or correct url in [database]",
    )


def _unwritable(path: Path, why: str) -> StoreError:
    return StoreError(
        f"the database {path}",
        why,
        advice="make the folder, writable for the user FLEX runs as, or correct url in [database]",
    )


def _no_backup(source: Path, path: Path, why: str, advice: str) -> StoreError:
    return StoreError(
        f"a copy of {source} at {path}", why, kept="both files are as they were", advice=advice
    )

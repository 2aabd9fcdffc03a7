"""PostgreSQL: how a connection is set up, and what is left to PostgreSQL's own tools."""

from __future__ import annotations

from functools import partial

import psycopg
from sqlalchemy import URL, Connection, Engine, create_engine, event, text

from flex.errors import StoreError

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
                kept="nothing was changed",
                advice="name the primary server, not a standby, in url in [database]",
            )


def create(_url: URL) -> None:
    """Databases are made by the administrator of the server: `createdb flex`."""

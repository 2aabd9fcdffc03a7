"""Migrations: which revision a database has, and how it gets to the newest one.

Takes the URL of a database. Changes its tables, or returns its revision. Does not go back to an
older revision: only a backup does.
"""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from sqlalchemy import Connection, column, inspect, select, table

from flex.errors import BadInput
from flex.store.database_by_url import Database
from flex.store.migration_files import head, place

if TYPE_CHECKING:
    from alembic.config import Config

# Where Alembic writes down what it did.
_DONE = table("alembic_version", column("version_num"))


def upgrade(url: str, to: str = "head") -> None:
    """Bring the tables to the newest revision, in one transaction. A missing SQLite file is made
    first.
    """
    database = Database(url, rebuilds=True)
    try:
        database.kind.create(database.url)
        with database.writing() as connection:
            _upgrade(database, connection, to)
            database.kind.check_references(connection)
    finally:
        database.close()


def is_there(url: str) -> bool:
    """Whether there is a database to be brought up to date."""
    database = Database(url)
    try:
        return database.kind.exists(database.url)
    finally:
        database.close()


def copy_before(url: str, folder: Path, now: datetime) -> Path | None:
    """A copy of a database that an upgrade would change, named for its revision and for now. None
    where there is nothing to change, or nothing to copy. Raises BadInput.
    """
    current, newest = revision(url)
    if not current or current == newest:
        return None
    database = Database(url)
    path = folder / f"flex-{current}-{now:%Y%m%dT%H%M%SZ}{database.kind.copy}"
    try:
        database.kind.backup(database.url, path)
    finally:
        database.close()
    return path


def revision(url: str) -> tuple[str, str]:
    """The revision the database is at ("" before the first) and the newest one. Makes nothing."""
    database = Database(url)
    try:
        return revision_of(database) if database.kind.exists(database.url) else ("", head())
    finally:
        database.close()


def revision_of(database: Database) -> tuple[str, str]:
    with database.reading() as connection:
        return _current(connection), head()


def backup(url: str, path: Path) -> None:
    """A copy of an SQLite database in one file. Raises BadInput for others, naming the tool to
    use.
    """
    database = Database(url)
    try:
        database.kind.backup(database.url, path)
    finally:
        database.close()


def _upgrade(database: Database, connection: Connection, to: str) -> None:
    # Every verb opens a database and hardly any brings one up to date: Alembic is slow to load.
    from alembic import command
    from alembic.util import CommandError

    config = _config()
    config.attributes["connection"] = connection
    try:
        command.upgrade(config, to)
    except CommandError as error:
        raise BadInput(
            f"upgrading the database {database.name}",
            f"its revision {_current(connection)} is not known here",
            advice="a newer FLEX has used it: install that version, or restore a backup",
        ) from error


def _current(connection: Connection) -> str:
    is_begun = inspect(connection).has_table(_DONE.name)
    return (connection.scalar(select(_DONE.c.version_num)) or "") if is_begun else ""


def _config() -> Config:
    """In code, so that neither a file nor the current folder matters."""
    from alembic.config import Config

    config = Config()
    # The settings are read with interpolation, in which a percent sign means something.
    config.set_main_option("script_location", str(place()).replace("%", "%%"))
    config.set_main_option("path_separator", "os")
    return config

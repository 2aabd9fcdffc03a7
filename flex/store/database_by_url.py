"""A database by its URL: which kind it is, its transactions, and its errors in FLEX's words.

Nothing here knows a table. Passwords are never part of a message.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, TypeVar, cast

from sqlalchemy import URL, Connection, Engine, make_url
from sqlalchemy.exc import ArgumentError, DataError, DBAPIError, IntegrityError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from flex.errors import BadInput, Busy, FlexError, StoreError
from flex.model.audit_chain import Author
from flex.store import postgresql_engine, sqlite_engine

Answer = TypeVar("Answer")
# Looks whether a transaction may write, and raises where it may not.
Guard = Callable[[Connection], None]


def _no_guard(_: Connection) -> None:
    """Whoever holds no lease writes."""


class WriteWatch(Protocol):
    """Looks whether a database was written to, by whomever, without reading it."""

    def stamp(self) -> int | None:
        """Another number after each change; None where only reading tells."""
        ...

    def close(self) -> None: ...


@dataclass(frozen=True, slots=True)
class Kind:
    """What differs between databases."""

    driver: str
    connect: Callable[[URL, float], Engine]
    exists: Callable[[URL], bool]
    check: Callable[[Engine], None]
    create: Callable[[URL], None]
    backup: Callable[[URL, Path], None]
    check_references: Callable[[Connection], None]
    # How the names of copies end.
    copy: str
    is_busy: Callable[[BaseException], bool]
    is_full: Callable[[URL, BaseException], bool]
    watch: Callable[[URL], WriteWatch]


KINDS: dict[str, Kind] = {
    "sqlite": Kind(
        "sqlite",
        sqlite_engine.connect,
        sqlite_engine.exists,
        sqlite_engine.check,
        sqlite_engine.create,
        sqlite_engine.backup,
        sqlite_engine.check_references,
        ".db",
        sqlite_engine.is_busy,
        sqlite_engine.is_full,
        sqlite_engine.WriteWatch,
    ),
    "postgresql": Kind(
        "postgresql+psycopg",
        postgresql_engine.connect,
        postgresql_engine.exists,
        postgresql_engine.check,
        postgresql_engine.create,
        postgresql_engine.backup,
        postgresql_engine.check_references,
        ".dump",
        postgresql_engine.is_busy,
        postgresql_engine.is_full,
        postgresql_engine.WriteWatch,
    ),
}


class Database:
    """Connects when it is first used. Every statement runs in one of the two transactions.

    `patience` is how many seconds one writer waits for another before it gives up. One that
    `rebuilds` its tables makes sure by check_references that no row points to nothing.
    """

    def __init__(self, url: str, *, patience: float = 30.0, rebuilds: bool = False) -> None:
        self.url, self.kind = parse_url(url)
        self.engine = self.kind.connect(self.url, patience)
        self._writer = self.engine.execution_options(writes=True, rebuilds=rebuilds)
        self._patience = patience
        # Writers of one process wait for each other here and not each on a connection of its own.
        self._turn = threading.Lock()
        self._mine = threading.local()
        self._watch = self.kind.watch(self.url)
        self._remembered: dict[object, tuple[int, object]] = {}

    @property
    def name(self) -> str:
        """What to call it in messages: the URL without secrets. Options are left out, one can be a
        password.
        """
        plain = self.url.set(drivername=self.url.get_backend_name(), query={})
        return plain.render_as_string(hide_password=True)

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """Everything read belongs to one moment. Within another transaction of the same thread it
        is part of that one.
        """
        if (open_ := self._open or self._reads) is not None:
            yield open_
            return
        with self._translate_errors("reading"), self.engine.begin() as connection:
            self._mine.reads = connection
            try:
                yield connection
            finally:
                self._mine.reads = None

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """All of it is stored or none. Writers take turns, so what is read in here stays true until
        the end.

        Within another of the same thread it is part of that one.
        """
        if (open_ := self._open) is not None:
            yield open_
            return
        with self._my_turn(), self._translate_errors("writing"), self._writer.begin() as connection:
            self._mine.connection = connection
            try:
                self._guard(connection)
                yield connection
            finally:
                self._mine.connection = None

    @contextmanager
    def guard_writes(self, run: str, guard: Guard) -> Iterator[None]:
        """Each transaction by which this thread writes in here, for that run, begins with the
        guard, which may refuse it.
        """
        before = self._mine.__dict__.copy()
        self._mine.run, self._mine.guard = run, guard
        try:
            yield
        finally:
            self._mine.run, self._mine.guard = (
                before.get("run", ""),
                before.get("guard", _no_guard),
            )

    @property
    def run(self) -> str:
        """The run that this thread writes for; "" for none."""
        run_id: str = getattr(self._mine, "run", "")
        return run_id

    @property
    def _guard(self) -> Guard:
        guard: Guard = getattr(self._mine, "guard", _no_guard)
        return guard

    def stamp(self) -> int | None:
        """Another number after each change, by whomever; None where only reading tells, or within
        a transaction, which sees none.
        """
        return None if self._open or self._reads else self._watch.stamp()

    def remember(self, question: object, ask: Callable[[], Answer]) -> Answer:
        """What was answered last, while nobody has written since; of few questions, as none is ever
        forgotten.
        """
        # Looked at before it is asked: what changes meanwhile is seen the next time.
        stamp = self.stamp()
        if stamp is None:
            return ask()
        known = self._remembered.get(question)
        if known is None or known[0] != stamp:
            known = self._remembered[question] = stamp, ask()
        return cast(Answer, known[1])

    @property
    def _open(self) -> Connection | None:
        """What this thread is writing by."""
        connection: Connection | None = getattr(self._mine, "connection", None)
        return connection

    @property
    def _reads(self) -> Connection | None:
        """What this thread is reading by."""
        connection: Connection | None = getattr(self._mine, "reads", None)
        return connection

    @contextmanager
    def _my_turn(self) -> Iterator[None]:
        if not self._turn.acquire(timeout=self._patience):
            raise self._busy(
                "writing", "others of this process have been writing to it for too long"
            )
        try:
            yield
        finally:
            self._turn.release()

    def check(self) -> None:
        """Raises BadInput or StoreError when it is not there or takes no writes."""
        with self._translate_errors("opening"):
            self.kind.check(self.engine)

    def close(self) -> None:
        self._watch.close()
        self.engine.dispose()

    @contextmanager
    def _translate_errors(self, doing: str) -> Iterator[None]:
        try:
            yield
        except IntegrityError:
            # The rules of the tables are kept by this package: breaking one is a bug, and looks
            # like one.
            raise
        except (DataError, UnicodeEncodeError) as error:
            raise self._unfit(doing, error) from error
        except DBAPIError as error:
            raise self._error_of(doing, error) from error
        except PoolTimeout as error:
            raise self._busy(doing, "every connection to it was taken for too long") from error

    def _unfit(self, doing: str, error: Exception) -> FlexError:
        return BadInput(
            f"{doing} {self.name}",
            f"a value cannot be kept there: {_driver_message(error)}",
            kept="nothing was stored",
            advice="look for names with characters that are not text, such as NUL or "
            "half a surrogate pair",
        )

    def _busy(self, doing: str, why: str) -> Busy:
        return Busy(
            f"{doing} {self.name}",
            why,
            kept="nothing was stored",
            advice="try again; if it stays so, look for a FLEX that hangs",
        )

    def _error_of(self, doing: str, error: DBAPIError) -> FlexError:
        if error.orig is not None and self.kind.is_busy(error.orig):
            return self._busy(
                doing,
                f"another process has been writing to it for too long ({_driver_message(error)})",
            )
        is_full = error.orig is not None and self.kind.is_full(self.url, error.orig)
        return StoreError(
            f"{doing} {self.name}",
            f"its disk is full ({_driver_message(error)})" if is_full else _driver_message(error),
            kept="nothing was stored; whole transactions from before are all there",
            advice="make room on its disk, and run the same again"
            if is_full
            else "check that the database is there, reachable and writable, and url in [database]",
        )


class StorePart:
    """One port's share of a store. All parts of a store use the same database, in the name of one
    author.
    """

    def __init__(self, database: Database, author: Author | None = None) -> None:
        self._database = database
        self._author = author or Author()


def _driver_message(error: Exception) -> str:
    """What the driver said, on one line, without the statement SQLAlchemy adds."""
    driver_error = error.orig if isinstance(error, DBAPIError) and error.orig is not None else error
    return " ".join(str(driver_error).split())


def parse_url(text: str) -> tuple[URL, Kind]:
    """Raises BadInput for a URL of no database that FLEX can use."""
    try:
        url = make_url(text)
    except (ArgumentError, ValueError):
        # Neither the text nor what the parser said of it: either can hold the password.
        raise _bad_url("the URL of the database cannot be read") from None
    kind = KINDS.get(url.get_backend_name())
    if kind is None:
        raise _bad_url(f"{url.get_backend_name()} is none of {', '.join(KINDS)}")
    return url.set(drivername=kind.driver), kind


def _bad_url(answer: str) -> BadInput:
    return BadInput(
        "url in [database]",
        answer,
        kept="nothing was opened",
        advice="write sqlite:////var/lib/flex/flex.db or postgresql://user@host/name; "
        "%-escape what is special in a password",
    )

"""The store in a database: its ports put together, and the door to it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from copy import copy
from types import TracebackType
from typing import Self

from flex.errors import BadInput
from flex.model.audit_chain import Author
from flex.store import migrate
from flex.store.answers_at_nodes import SqlAnswersOfSites
from flex.store.audit import SqlAudit
from flex.store.audit_writer import noting
from flex.store.database_by_url import Database
from flex.store.dns_journal_store import SqlJournals
from flex.store.door_orders import SqlDoorOrders
from flex.store.how_far_logs_were_read import SqlSegments
from flex.store.moves_and_stage_runs import SqlSiteMoves
from flex.store.nodes_and_freeze import SqlAttempts, SqlOrders, SqlRoutingState
from flex.store.plans import SqlPlans
from flex.store.profiles import SqlProfiles
from flex.store.runs_and_lease import SqlRuns
from flex.store.stray_counts import SqlStrays
from flex.store.tokens_and_jobs import SqlJobs, SqlTokens
from flex.store.wishes import SqlWishes


@noting
class Store(
    SqlWishes,
    SqlOrders,
    SqlRoutingState,
    SqlDoorOrders,
    SqlStrays,
    SqlSiteMoves,
    SqlAnswersOfSites,
    SqlAttempts,
    SqlSegments,
    SqlProfiles,
    SqlPlans,
    SqlJournals,
    SqlRuns,
    SqlAudit,
    SqlTokens,
    SqlJobs,
):
    """Close it, or use it in a `with`, to give its connections back."""

    def in_the_name_of(self, author: Author) -> Self:
        """The same store, whose changes are noted in the author's name."""
        view = copy(self)
        view._author = author
        return view

    @contextmanager
    def together(self) -> Iterator[None]:
        """In this context, what the thread writes is stored whole or not at all, and nobody else
        writes meanwhile.
        """
        with self._database.writing():
            yield

    def close(self) -> None:
        self._database.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        self.close()


def open_store(url: str) -> Store:
    """Raises BadInput for a database that must be made or migrated first, StoreError for one that
    cannot be used.
    """
    database = Database(url)
    try:
        database.check()
        current, head = migrate.revision_of(database)
        if current != head:
            raise _other_revision(database, current, head)
    except BaseException:
        database.close()
        raise
    return Store(database)


def _other_revision(database: Database, current: str, head: str) -> BadInput:
    return BadInput(
        f"the database {database.name}",
        f"its tables are at revision {current or 'none'}, this FLEX needs {head}",
        advice="bring it up to date with `flex db upgrade` (a copy first: `flex db backup`)",
    )

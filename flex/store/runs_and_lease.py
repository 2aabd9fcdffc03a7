"""The lease and the record of runs in the database."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, fields
from datetime import datetime, timedelta

from sqlalchemy import (
    ColumnElement,
    Connection,
    RowMapping,
    func,
    insert,
    or_,
    select,
    true,
    update,
)

from flex.model.nightly_run import NightlyRun, Stage
from flex.store import errors_of_stores, frames_to_tables, schema
from flex.store.database_by_url import StorePart
from flex.store.lease import Lease, interrupted_run
from flex.store.schema import runs, stages


class SqlRuns(StorePart):
    """One lease for the whole cluster, and a record of every run."""

    def begin(
        self, run: NightlyRun, lease: timedelta, now: datetime, *, breaks_in: bool = False
    ) -> tuple[NightlyRun, ...]:
        """Takes the lease and records the run. Raises Busy while another live run holds the lease.

        With `breaks_in` it takes the lease also from a run that only waits. Returns the runs that
        were found unfinished and are now marked as interrupted. Stages of the run given here are
        not looked at: stage() alone records them.
        """
        with self._database.writing() as connection:
            held = lease_of(connection)
            if held is not None and not held.is_free(now, breaks_in=breaks_in):
                raise errors_of_stores.held_error(run, held)
            if _is_known(connection, run.id):
                raise errors_of_stores.begun_before(run)
            ended = tuple(
                interrupted_run(each, now) for each in _runs(connection, runs.c.ended.is_(None))
            )
            for each in ended:
                _update(connection, each)
            connection.execute(insert(runs), _row(run))
            connection.execute(
                update(schema.lease).values(
                    run=run.id, since=now, expires=now + lease, waiting=False
                )
            )
        return ended

    def beat(self, run_id: str, lease: timedelta, now: datetime) -> None:
        """Prolongs the lease. Raises Busy when another run has taken it."""
        mine = update(schema.lease).where(schema.lease.c.run == run_id)
        with self._database.writing() as connection:
            if not connection.execute(mine.values(expires=now + lease)).rowcount:
                raise errors_of_stores.lost_error(run_id, lease_of(connection))

    def wait(self, run_id: str) -> None:
        """From now on the run only waits. Raises Busy where another run has the lease."""
        self._waits(run_id, waiting=True)

    def holds(self, run_id: str) -> bool:
        """Whether that run still has the lease."""
        with self._database.reading() as connection:
            return connection.scalar(select(schema.lease.c.run)) == run_id

    @contextmanager
    def holding(self, run_id: str) -> Iterator[None]:
        """In this context the thread writes as that run: every write raises LostLease once the
        lease is lost.
        """

        def refuse_lost(connection: Connection) -> None:
            if connection.scalar(select(schema.lease.c.run)) != run_id:
                raise errors_of_stores.lost_error(run_id, lease_of(connection))

        with self._database.guard_writes(run_id, refuse_lost):
            yield

    def go_on(self, run_id: str) -> None:
        """The run does not wait any more. Raises Busy where another run has broken in."""
        self._waits(run_id, waiting=False)

    def _waits(self, run_id: str, *, waiting: bool) -> None:
        mine = update(schema.lease).where(schema.lease.c.run == run_id)
        with self._database.writing() as connection:
            if not connection.execute(mine.values(waiting=waiting)).rowcount:
                raise errors_of_stores.lost_error(run_id, lease_of(connection))

    def installation(self) -> str:
        """The random name of this store, chosen when it was made."""
        with self._database.reading() as connection:
            return str(connection.execute(select(schema.installation.c.name)).scalar_one())

    def stage(self, run_id: str, stage: Stage) -> None:
        """Records the start or the end of a stage, in place of the one with the same name."""
        of_run = stages.c.run == run_id
        row = asdict(stage)
        with self._database.writing() as connection:
            if not _is_known(connection, run_id):
                raise errors_of_stores.unknown_run(run_id)
            if not connection.execute(
                update(stages).where(of_run, stages.c.name == stage.name).values(row)
            ).rowcount:
                position = connection.scalar(select(func.count()).select_from(stages).where(of_run))
                connection.execute(insert(stages), {"run": run_id, "position": position, **row})

    def end(self, run: NightlyRun) -> None:
        """Records how the run ended, and gives the lease back. Raises Unknown for a run that was
        never begun. A lease that another run has taken over
        stays with it.
        """
        mine = update(schema.lease).where(schema.lease.c.run == run.id)
        with self._database.writing() as connection:
            if not _is_known(connection, run.id):
                raise errors_of_stores.unknown_run(run.id)
            _update(connection, run)
            connection.execute(mine.values(run=None, since=None, expires=None, waiting=False))

    def runs(self, limit: int = 50) -> tuple[NightlyRun, ...]:
        """Newest first."""
        with self._database.reading() as connection:
            return _runs(connection, true(), limit)

    def run_of(self, run_id: str) -> NightlyRun:
        """However many began after it. Raises Unknown where there is none."""
        with self._database.reading() as connection:
            matching = _runs(connection, runs.c.id == run_id)
        if not matching:
            raise errors_of_stores.unknown_run(run_id)
        return matching[0]

    def runs_about(self, plan_id: str) -> tuple[NightlyRun, ...]:
        """Those that made the plan, applied it or finished it, newest first. The outcome of a stage
        is the plan that came out of it.
        """
        run_ids = select(stages.c.run).where(stages.c.outcome == plan_id)
        # What a plan is called in the table is older than its name here.
        which = or_(runs.c.cycle == plan_id, runs.c.id.in_(run_ids))
        with self._database.reading() as connection:
            return _runs(connection, which)


def lease_of(connection: Connection) -> Lease | None:
    """None while nobody holds it."""
    wanted = select(
        runs.c.id,
        runs.c.holder,
        schema.lease.c.since,
        schema.lease.c.expires,
        schema.lease.c.waiting,
    )
    row = connection.execute(wanted.join_from(schema.lease, runs)).one_or_none()
    return row and Lease(row.id, row.holder, row.since, row.expires, row.waiting)


def _runs(
    connection: Connection, which: ColumnElement[bool], limit: int | None = None
) -> tuple[NightlyRun, ...]:
    """Newest first, each with its stages in the order in which they began."""
    wanted = (
        select(runs)
        .where(which)
        .order_by(func.coalesce(runs.c.made, runs.c.started).desc(), runs.c.id.desc())
        .limit(limit)
    )
    rows = connection.execute(wanted).mappings().all()
    stages_of = _stages(connection, [row["id"] for row in rows])
    return tuple(_run_of(row, stages_of.get(row["id"], ())) for row in rows)


def _run_of(row: RowMapping, its_stages: Sequence[Stage]) -> NightlyRun:
    """What a plan is called in the table is older than its name here."""
    values = {name: value for name, value in row.items() if name != "cycle"}
    return NightlyRun(**values, plan=row["cycle"], stages=tuple(its_stages))


def _stages(connection: Connection, run_ids: Sequence[str]) -> dict[str, list[Stage]]:
    """The stages of each of these runs."""
    stages_of: dict[str, list[Stage]] = {}
    for few in frames_to_tables.parts(run_ids):
        of_runs = select(stages).where(stages.c.run.in_(few)).order_by(stages.c.position)
        for row in connection.execute(of_runs):
            stages_of.setdefault(row.run, []).append(
                Stage(row.name, row.started, row.ended, row.outcome)
            )
    return stages_of


def _is_known(connection: Connection, run_id: str) -> bool:
    return connection.scalar(select(runs.c.id).where(runs.c.id == run_id)) is not None


def _update(connection: Connection, run: NightlyRun) -> None:
    connection.execute(update(runs).where(runs.c.id == run.id).values(_row(run)))


def _row(run: NightlyRun) -> dict[str, object]:
    """What a plan is called in the table is older than its name here."""
    row = {field.name: getattr(run, field.name) for field in fields(run) if field.name != "stages"}
    row["cycle"] = row.pop("plan")
    return row

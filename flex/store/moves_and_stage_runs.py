"""Sites on their way from one node to another, in the database and in memory.

Takes and returns plain values. Does not know what a stage does.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime

from sqlalchemy import Column, ForeignKey, Table, delete, insert, select
from sqlalchemy.types import BigInteger

from flex.model.site_moves import OPEN, SiteMove, StageRun
from flex.store.database import StorePart
from flex.store.memory_transactions import AllOrNothing
from flex.store.schema import TEXT, Utc, metadata

site_moves = Table(
    "site_moves",
    metadata,
    Column("id", TEXT, primary_key=True),
    # Not indexed: logs bring names of any length.
    Column("site", TEXT, nullable=False),
    Column("source", TEXT, nullable=False),
    Column("target", TEXT, nullable=False),
    Column("plan", TEXT, nullable=False),
    Column("begun", Utc, nullable=False, index=True),
    Column("state", TEXT, nullable=False, index=True),
    Column("ended", Utc),
    Column("reason", TEXT, nullable=False),
    Column("rests_until", Utc),
)

stage_runs = Table(
    "stage_runs",
    metadata,
    Column("move", ForeignKey("site_moves.id"), primary_key=True),
    Column("stage", TEXT, primary_key=True),
    Column("hook", TEXT, primary_key=True),
    Column("state", TEXT, nullable=False),
    Column("tries", BigInteger, nullable=False),
    Column("begun", Utc, nullable=False),
    Column("ended", Utc),
    Column("said", TEXT, nullable=False),
)

# As many ids in one question: databases limit how many values a statement may have.
_AT_ONCE = 500


class SqlSiteMoves(StorePart):
    def put_site_moves(self, moves: Sequence[SiteMove]) -> None:
        with self._database.writing() as connection:
            for move in moves:
                row = asdict(move)
                same = site_moves.c.id == move.id
                if not connection.execute(
                    site_moves.update().where(same).values(row)
                ).rowcount:
                    connection.execute(insert(site_moves), row)

    def site_moves(
        self,
        limit: int | None = None,
        *,
        site: str = "",
        plan: str = "",
        only_open: bool = False,
        resting_at: datetime | None = None,
    ) -> tuple[SiteMove, ...]:
        asked = select(site_moves).order_by(
            site_moves.c.begun.desc(), site_moves.c.id.desc()
        )
        if site:
            asked = asked.where(site_moves.c.site == site)
        if plan:
            asked = asked.where(site_moves.c.plan == plan)
        if resting_at:
            asked = asked.where(site_moves.c.rests_until > resting_at)
        if only_open:
            asked = asked.where(site_moves.c.state.in_(OPEN))
        with self._database.reading() as connection:
            rows = connection.execute(asked.limit(limit)).mappings()
            return tuple(SiteMove(**row) for row in rows)

    def put_stage_run(self, run: StageRun) -> None:
        same = (
            (stage_runs.c.move == run.move)
            & (stage_runs.c.stage == run.stage)
            & (stage_runs.c.hook == run.hook)
        )
        with self._database.writing() as connection:
            connection.execute(delete(stage_runs).where(same))
            connection.execute(insert(stage_runs), asdict(run))

    def stage_runs(self, moves: Sequence[str]) -> tuple[StageRun, ...]:
        found: list[StageRun] = []
        with self._database.reading() as connection:
            for begin in range(0, len(moves), _AT_ONCE):
                these = stage_runs.c.move.in_(moves[begin : begin + _AT_ONCE])
                rows = connection.execute(select(stage_runs).where(these)).mappings()
                found += [StageRun(**row) for row in rows]
        return tuple(sorted(found, key=_in_order))


class MemorySiteMoves(AllOrNothing):
    def __init__(self) -> None:
        super().__init__()
        self._site_moves: dict[str, SiteMove] = {}
        self._stage_runs: dict[tuple[str, str, str], StageRun] = {}

    def put_site_moves(self, moves: Sequence[SiteMove]) -> None:
        with self._lock:
            self._refuse_lost()
            self._site_moves |= {move.id: move for move in moves}

    def site_moves(
        self,
        limit: int | None = None,
        *,
        site: str = "",
        plan: str = "",
        only_open: bool = False,
        resting_at: datetime | None = None,
    ) -> tuple[SiteMove, ...]:
        with self._lock:
            every = sorted(
                self._site_moves.values(),
                key=lambda move: (move.begun, move.id),
                reverse=True,
            )
        wanted = [
            move
            for move in every
            if (not site or move.site == site)
            and (not plan or move.plan == plan)
            and (not only_open or move.is_open)
            and (
                resting_at is None
                or (move.rests_until is not None and move.rests_until > resting_at)
            )
        ]
        return tuple(wanted[:limit])

    def put_stage_run(self, run: StageRun) -> None:
        with self._lock:
            self._refuse_lost()
            self._stage_runs[run.move, run.stage, run.hook] = run

    def stage_runs(self, moves: Sequence[str]) -> tuple[StageRun, ...]:
        with self._lock:
            found = [run for run in self._stage_runs.values() if run.move in moves]
        return tuple(sorted(found, key=_in_order))


def _in_order(run: StageRun) -> tuple[object, ...]:
    return (run.begun, run.move, run.stage, run.hook)

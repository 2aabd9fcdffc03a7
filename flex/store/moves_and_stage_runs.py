"""Sites on their way from one node to another, in the database and in memory.

Takes and returns plain values. Does not know what a stage does.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from datetime import datetime

from sqlalchemy import (
    Column,
    ForeignKey,
    Table,
    bindparam,
    delete,
    func,
    insert,
    literal,
    select,
    tuple_,
)
from sqlalchemy.types import BigInteger, Boolean

from flex.model.site_moves import (
    OPEN,
    OWN_STAGES,
    WATCHING,
    MoveCounts,
    Place,
    SiteMove,
    Stage,
    StageRun,
    State,
    seconds_waited,
)
from flex.store.database_by_url import StorePart
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
    Column("for_now", Boolean, nullable=False),
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
# What the number of a move that is there is called in a statement that changes it.
_SAME = "same"
_UPDATE = (
    site_moves.update()
    .where(site_moves.c.id == bindparam(_SAME))
    .values({column.name: bindparam(column.name) for column in site_moves.c})
)


class SqlSiteMoves(StorePart):
    def put_site_moves(self, moves: Sequence[SiteMove]) -> None:
        rows = {move.id: asdict(move) for move in moves}
        with self._database.writing() as connection:
            known = set[str]()
            for ids in _parts(list(rows)):
                query = select(site_moves.c.id).where(site_moves.c.id.in_(ids))
                known |= set(connection.execute(query).scalars())
            new = [row for id_, row in rows.items() if id_ not in known]
            if new:
                connection.execute(insert(site_moves), new)
            if known:
                connection.execute(_UPDATE, [rows[id_] | {_SAME: id_} for id_ in known])

    def site_moves(
        self,
        limit: int | None = None,
        *,
        site: str = "",
        plan: str = "",
        only_open: bool = False,
        resting_at: datetime | None = None,
        node: str = "",
        states: Sequence[State] = (),
        behind: Place | None = None,
        oldest_first: bool = False,
    ) -> tuple[SiteMove, ...]:
        place = tuple_(site_moves.c.begun, site_moves.c.id)
        columns = (site_moves.c.begun, site_moves.c.id)
        query = select(site_moves).order_by(
            *(column if oldest_first else column.desc() for column in columns)
        )
        if site:
            query = query.where(site_moves.c.site == site)
        if plan:
            query = query.where(site_moves.c.plan == plan)
        if resting_at:
            query = query.where(site_moves.c.rests_until > resting_at)
        if only_open:
            query = query.where(site_moves.c.state.in_(OPEN))
        if states:
            query = query.where(site_moves.c.state.in_(states))
        if node:
            query = query.where((site_moves.c.source == node) | (site_moves.c.target == node))
        if behind:
            last = tuple_(
                literal(behind[0], site_moves.c.begun.type),
                literal(behind[1], site_moves.c.id.type),
            )
            query = query.where(place > last if oldest_first else place < last)
        with self._database.reading() as connection:
            rows = connection.execute(query.limit(limit)).mappings()
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
        runs: list[StageRun] = []
        with self._database.reading() as connection:
            for ids in _parts(moves):
                these = stage_runs.c.move.in_(ids)
                rows = connection.execute(select(stage_runs).where(these)).mappings()
                runs += [StageRun(**row) for row in rows]
        return tuple(sorted(runs, key=_stage_run_key))

    def count_site_moves(self, since: datetime) -> MoveCounts:
        by_state = select(
            site_moves.c.state, func.count(), func.min(site_moves.c.begun, type_=Utc)
        ).group_by(site_moves.c.state)
        lately = stage_runs.join(site_moves).select().where(site_moves.c.begun >= since)
        runs = lately.with_only_columns(*stage_runs.c).where(
            (stage_runs.c.tries > 1)
            | (stage_runs.c.state == "failed")
            | stage_runs.c.stage.in_(OWN_STAGES)
        )
        with self._database.reading() as connection:
            states = connection.execute(by_state).all()
            told = [StageRun(**row) for row in connection.execute(runs).mappings()]
        return _counts(states, told)

    def watched_moves(self) -> tuple[tuple[SiteMove, StageRun], ...]:
        is_watched = (stage_runs.c.stage == "watch") & stage_runs.c.state.in_(WATCHING)
        with self._database.reading() as connection:
            rows = connection.execute(select(stage_runs).where(is_watched)).mappings()
            runs = {row["move"]: StageRun(**row) for row in rows}
            moves: dict[str, SiteMove] = {}
            ids = sorted(runs)
            for begin in range(0, len(ids), _AT_ONCE):
                these = site_moves.c.id.in_(ids[begin : begin + _AT_ONCE])
                move_rows = connection.execute(select(site_moves).where(these)).mappings()
                moves |= {row["id"]: SiteMove(**row) for row in move_rows}
        return _sort_by_begin((moves[id_], run) for id_, run in runs.items())


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
        node: str = "",
        states: Sequence[State] = (),
        behind: Place | None = None,
        oldest_first: bool = False,
    ) -> tuple[SiteMove, ...]:
        with self._lock:
            every = sorted(self._site_moves.values(), key=_place, reverse=not oldest_first)
        wanted = [
            move
            for move in every
            if (not site or move.site == site)
            and (not plan or move.plan == plan)
            and (not only_open or move.is_open)
            and (not node or node in (move.source, move.target))
            and (not states or move.state in states)
            and (
                behind is None or (_place(move) > behind if oldest_first else _place(move) < behind)
            )
            and (
                resting_at is None
                or (move.rests_until is not None and move.rests_until > resting_at)
            )
        ]
        return tuple(wanted[:limit])

    def count_site_moves(self, since: datetime) -> MoveCounts:
        with self._lock:
            moves = list(self._site_moves.values())
            lately = {move.id for move in moves if move.begun >= since}
            runs = [run for run in self._stage_runs.values() if run.move in lately]
        begun: dict[State, list[datetime]] = {}
        for move in moves:
            begun.setdefault(move.state, []).append(move.begun)
        return _counts([(state, len(at), min(at)) for state, at in begun.items()], runs)

    def put_stage_run(self, run: StageRun) -> None:
        with self._lock:
            self._refuse_lost()
            self._stage_runs[run.move, run.stage, run.hook] = run

    def stage_runs(self, moves: Sequence[str]) -> tuple[StageRun, ...]:
        with self._lock:
            runs = [run for run in self._stage_runs.values() if run.move in moves]
        return tuple(sorted(runs, key=_stage_run_key))

    def watched_moves(self) -> tuple[tuple[SiteMove, StageRun], ...]:
        with self._lock:
            return _sort_by_begin(
                (self._site_moves[run.move], run)
                for run in self._stage_runs.values()
                if run.stage == "watch" and run.state in WATCHING
            )


def _sort_by_begin(
    pairs: Iterable[tuple[SiteMove, StageRun]],
) -> tuple[tuple[SiteMove, StageRun], ...]:
    return tuple(sorted(pairs, key=lambda pair: (pair[1].begun, pair[0].id)))


def _place(move: SiteMove) -> Place:
    return move.begun, move.id


def _parts(ids: Sequence[str]) -> Iterator[Sequence[str]]:
    return (ids[at : at + _AT_ONCE] for at in range(0, len(ids), _AT_ONCE))


def _counts(states: Iterable[tuple[State, int, datetime]], runs: Iterable[StageRun]) -> MoveCounts:
    again, failed = Counter[Stage](), Counter[Stage]()
    doors: dict[str, list[StageRun]] = {}
    for run in runs:
        again[run.stage] += run.tries - 1
        failed[run.stage] += run.state == "failed"
        if run.stage in OWN_STAGES:
            doors.setdefault(run.move, []).append(run)
    counted = {state: (count, oldest) for state, count, oldest in states}
    return MoveCounts(
        states={state: count for state, (count, _) in counted.items()},
        oldest={state: counted[state][1] for state in OPEN if state in counted},
        again=+again,
        failed=+failed,
        waited=sorted(
            seconds for each in doors.values() if (seconds := seconds_waited(each)) is not None
        ),
    )


def _stage_run_key(run: StageRun) -> tuple[object, ...]:
    return (run.begun, run.move, run.stage, run.hook)

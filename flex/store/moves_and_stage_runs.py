"""Sites on their way from one node to another, in the database.

Takes and returns plain values. Does not know what a stage does.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import datetime

from sqlalchemy import (
    ColumnElement,
    ForeignKeyConstraint,
    Index,
    Table,
    bindparam,
    func,
    insert,
    literal,
    select,
    tuple_,
)

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
from flex.store import frames_to_tables
from flex.store.database_by_url import StorePart
from flex.store.keyed_table import KeyedTable
from flex.store.schema import Utc, columns_of, metadata

# Sites are not indexed: logs bring names of any length.
site_moves = Table(
    "site_moves",
    metadata,
    *columns_of(SiteMove, "id"),
    Index(None, "begun"),
    Index(None, "state"),
)

stage_runs = Table(
    "stage_runs",
    metadata,
    *columns_of(StageRun, "move", "stage", "hook"),
    ForeignKeyConstraint(["move"], ["site_moves.id"]),
)

MOVES = KeyedTable(site_moves, SiteMove)
STAGE_RUNS = KeyedTable(stage_runs, StageRun)
# What the number of a move that is there is called in a statement that changes it.
_SAME = "same"
_UPDATE = (
    site_moves.update()
    .where(site_moves.c.id == bindparam(_SAME))
    .values({column.name: bindparam(column.name) for column in site_moves.c})
)


class SqlSiteMoves(StorePart):
    """Plans and settings decide; these only follow, so they are not in the audit log."""

    def put_site_moves(self, moves: Sequence[SiteMove]) -> None:
        """All of them or none; in place of those with the same ids."""
        rows = {move.id: MOVES.row(move) for move in moves}
        with self._database.writing() as connection:
            known = set[str]()
            for ids in frames_to_tables.parts(list(rows)):
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
        """Those begun last come first, or last; only those of one site or plan, or from or to one
        node, where one is named, in one of the states, where some are, those whose site rests at a
        moment, where that is given, and those that come behind a place in that order.
        """
        place = tuple_(site_moves.c.begun, site_moves.c.id)
        columns = (site_moves.c.begun, site_moves.c.id)
        order = [column if oldest_first else column.desc() for column in columns]
        where: list[ColumnElement[bool]] = []
        if site:
            where.append(site_moves.c.site == site)
        if plan:
            where.append(site_moves.c.plan == plan)
        if resting_at:
            where.append(site_moves.c.rests_until > resting_at)
        if only_open:
            where.append(site_moves.c.state.in_(OPEN))
        if states:
            where.append(site_moves.c.state.in_(states))
        if node:
            where.append((site_moves.c.source == node) | (site_moves.c.target == node))
        if behind:
            last = tuple_(
                literal(behind[0], site_moves.c.begun.type),
                literal(behind[1], site_moves.c.id.type),
            )
            where.append(place > last if oldest_first else place < last)
        return MOVES.all(self._database, *where, order=order, limit=limit)

    def put_stage_run(self, run: StageRun) -> None:
        """In place of the one of the same move, stage and hook."""
        STAGE_RUNS.put(self._database, run)

    def stage_runs(self, moves: Sequence[str]) -> tuple[StageRun, ...]:
        """In the order in which they were begun."""
        runs = STAGE_RUNS.among(self._database, stage_runs.c.move, moves)
        return tuple(sorted(runs, key=_stage_run_key))

    def count_site_moves(self, since: datetime) -> MoveCounts:
        """How many moves there are, and what was run for those that began since then or are not
        over.
        """
        by_state = select(
            site_moves.c.state, func.count(), func.min(site_moves.c.begun, type_=Utc)
        ).group_by(site_moves.c.state)
        is_counted = (site_moves.c.begun >= since) | site_moves.c.state.in_(OPEN)
        lately = stage_runs.join(site_moves).select().where(is_counted)
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
        """Moves whose stage `watch` is `begun` or `undoing`, those begun first come first."""
        is_watched = (stage_runs.c.stage == "watch") & stage_runs.c.state.in_(WATCHING)
        with self._database.reading():
            runs = {run.move: run for run in STAGE_RUNS.all(self._database, is_watched)}
            moves = MOVES.among(self._database, site_moves.c.id, runs)
        pairs = ((move, runs[move.id]) for move in moves)
        return tuple(sorted(pairs, key=lambda pair: (pair[1].begun, pair[0].id)))


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

"""Cycles and their placements in the database."""

from __future__ import annotations

from dataclasses import asdict, fields

import pandas as pd
from sqlalchemy import Connection, func, insert, select, true, update

from flex.errors import FlexError
from flex.model.domain import Cycle, CycleState
from flex.model.plan_summary import Headline, headline
from flex.store import bulk, refusals
from flex.store.codec import cycle_from_text, cycle_to_text
from flex.store.database import Part
from flex.store.runs import lease_of
from flex.store.schema import cycles, in_force, lease, placements
from flex.tables import PLACEMENT

FIGURES = tuple(cycles.c[field.name] for field in fields(Headline))


class SqlCycles(Part):
    def placement(self) -> tuple[str, pd.DataFrame]:
        with self._database.reading() as connection:
            cycle_id = connection.scalar(select(in_force.c.cycle))
            if cycle_id is None:
                return "", PLACEMENT.empty()
            return cycle_id, bulk.load(connection, placements, cycle_id, PLACEMENT)

    def in_force(self) -> str:
        with self._database.reading() as connection:
            return connection.scalar(select(in_force.c.cycle)) or ""

    def placement_of(self, cycle_id: str) -> pd.DataFrame:
        """Once a cycle is settled, the placement it was settled with."""
        with self._database.reading() as connection:
            if _state(connection, cycle_id) is None:
                raise refusals.unknown_cycle(cycle_id)
            return bulk.load(connection, placements, cycle_id, PLACEMENT)

    def propose(self, cycle: Cycle, placement: pd.DataFrame) -> None:
        """Proposing the same again is harmless; raises BadInput once something has become of that id."""
        PLACEMENT.check(placement)
        with self._database.writing() as connection:
            state = _state(connection, cycle.id)
            if state is None:
                connection.execute(insert(cycles), row_of(cycle))
            elif state == "proposed":
                _update(connection, cycle)
            else:
                raise refusals.proposed_before(cycle, state)
            bulk.store(connection, placements, cycle.id, placement)

    def update(self, cycle: Cycle) -> None:
        with self._database.writing() as connection:
            _update(connection, cycle)

    def settle(self, cycle: Cycle, placement: pd.DataFrame) -> None:
        """Raises Unknown, and changes nothing, for a cycle that was never proposed.

        That the base and the lease are what they were is part of the very statement that puts it in force.
        """
        PLACEMENT.check(placement)
        with self._database.writing() as connection:
            _update(connection, cycle)
            # Nearly always the placement is the one that was proposed, and reading is cheaper than writing.
            if not bulk.load(connection, placements, cycle.id, PLACEMENT).equals(placement):
                bulk.store(connection, placements, cycle.id, placement)
            run = self._database.run
            as_before = func.coalesce(in_force.c.cycle, "").in_((cycle.base, cycle.id))
            is_ours = func.coalesce(select(lease.c.run).scalar_subquery(), "") == run
            if not connection.execute(update(in_force).where(as_before, is_ours).values(cycle=cycle.id)).rowcount:
                raise _unsettled(connection, cycle, run)

    def cycle(self, cycle_id: str) -> Cycle:
        # LIKE would give a meaning to % and _, and SQLite's does not tell a from A.
        begins = func.substr(cycles.c.id, 1, len(cycle_id)) == cycle_id
        wanted = select(cycles.c.id, cycles.c.body).where(begins).order_by(cycles.c.id).limit(refusals.LISTED + 1)
        with self._database.reading() as connection:
            found = {row.id: row.body for row in connection.execute(wanted)} if cycle_id else {}
        if cycle_id not in found and len(found) != 1:
            raise refusals.unknown_cycle(cycle_id, tuple(found))
        return cycle_from_text(found.get(cycle_id) or next(iter(found.values())))

    def cycles(self, limit: int = 50, *, state: CycleState | None = None) -> tuple[Cycle, ...]:
        """Those of one state are searched by their column: bodies of others, which can be large, are not read."""
        which = true() if state is None else cycles.c.state == state
        wanted = select(cycles.c.body).where(which).order_by(cycles.c.created.desc(), cycles.c.id.desc()).limit(limit)
        with self._database.reading() as connection:
            return tuple(cycle_from_text(body) for body in connection.scalars(wanted))

    def headlines(self) -> tuple[Headline, ...]:
        with self._database.reading() as connection:
            rows = connection.execute(select(*FIGURES).order_by(cycles.c.created.desc(), cycles.c.id.desc()))
            return tuple(Headline(*row) for row in rows)

    def headline(self, cycle_id: str) -> Headline | None:
        with self._database.reading() as connection:
            row = connection.execute(select(*FIGURES).where(cycles.c.id == cycle_id)).one_or_none()
        return Headline(*row) if row else None


def _unsettled(connection: Connection, cycle: Cycle, run: str) -> FlexError:
    held = lease_of(connection)
    if (held.run if held else "") != run:
        return refusals.lost_error(run, held)
    return refusals.overtaken_base(cycle, connection.scalar(select(in_force.c.cycle)) or "")


def _state(connection: Connection, cycle_id: str) -> str | None:
    return connection.scalar(select(cycles.c.state).where(cycles.c.id == cycle_id))


def _update(connection: Connection, cycle: Cycle) -> None:
    changed = connection.execute(update(cycles).where(cycles.c.id == cycle.id).values(row_of(cycle)))
    if not changed.rowcount:
        raise refusals.unknown_cycle(cycle.id)


def row_of(cycle: Cycle) -> dict[str, object]:
    return {**asdict(headline(cycle)), "body": cycle_to_text(cycle)}

"""Plans and their partitions in the database."""

from __future__ import annotations

from dataclasses import asdict, fields
from typing import TYPE_CHECKING

import pandas as pd
from sqlalchemy import Connection, delete, func, insert, select, true, update

from flex.errors import FlexError
from flex.frame_schemas import PLACEMENT
from flex.model.plan import Plan, PlanState
from flex.model.plan_summary import Headline, headline
from flex.store import errors_of_stores, frames_to_tables, proof_as_bytes
from flex.store.database_by_url import StorePart
from flex.store.plans_as_json import plan_from_text, plan_to_text
from flex.store.runs_and_lease import lease_of
from flex.store.schema import in_force, lease, placements, plan_proofs, plans

if TYPE_CHECKING:
    from flex.placing.proof_statement import Json

# By when they were made, whatever time they are as of.
NEWEST_FIRST = (func.coalesce(plans.c.made, plans.c.created).desc(), plans.c.id.desc())
FIGURES = tuple(plans.c[field.name] for field in fields(Headline))


class SqlPlans(StorePart):
    def placement(self) -> tuple[str, pd.DataFrame]:
        """The id of the plan in force and its PLACEMENT; "" and an empty table before the first."""
        with self._database.reading() as connection:
            plan_id = connection.scalar(select(in_force.c.cycle))
            if plan_id is None:
                return "", PLACEMENT.empty()
            return plan_id, frames_to_tables.load(connection, placements, plan_id, PLACEMENT)

    def sites_of_nodes(self, plan_id: str = "") -> dict[str, int]:
        """How many sites the partition in force has on each node, or that of a plan; nothing for
        nodes without any.
        """
        counts = select(placements.c.node, func.count()).group_by(placements.c.node)
        query = (
            counts.where(placements.c.cycle == plan_id)
            if plan_id
            else counts.join(in_force, in_force.c.cycle == placements.c.cycle)
        )
        with self._database.reading() as connection:
            rows = connection.execute(query)
            return {str(node): int(sites) for node, sites in rows}

    def in_force(self) -> str:
        """The id of the plan in force; "" before the first."""
        with self._database.reading() as connection:
            return connection.scalar(select(in_force.c.cycle)) or ""

    def placement_of(self, plan_id: str) -> pd.DataFrame:
        """The partition that the plan proposes, or that it was settled with. Raises Unknown."""
        with self._database.reading() as connection:
            if _state(connection, plan_id) is None:
                raise errors_of_stores.unknown_plan(plan_id)
            return frames_to_tables.load(connection, placements, plan_id, PLACEMENT)

    def propose(self, plan: Plan, placement: pd.DataFrame) -> None:
        """Proposing the same again is harmless; raises BadInput once something has become of that
        id.
        """
        PLACEMENT.check(placement)
        with self._database.writing() as connection:
            state = _state(connection, plan.id)
            if state is None:
                connection.execute(insert(plans), row_of(plan))
            elif state == "proposed":
                _update(connection, plan)
            else:
                raise errors_of_stores.proposed_before(plan, state)
            frames_to_tables.store(connection, placements, plan.id, placement)

    def keep_proof(self, plan_id: str, proof: Json) -> None:
        """Stores the proof that so many moves are needed. Raises Unknown."""
        body = proof_as_bytes.pack(proof)
        with self._database.writing() as connection:
            if _state(connection, plan_id) is None:
                raise errors_of_stores.unknown_plan(plan_id)
            connection.execute(delete(plan_proofs).where(plan_proofs.c.cycle == plan_id))
            connection.execute(insert(plan_proofs), {"cycle": plan_id, "body": body})

    def proof_of(self, plan_id: str) -> Json | None:
        """None where the plan has none. Raises Unknown."""
        with self._database.reading() as connection:
            if _state(connection, plan_id) is None:
                raise errors_of_stores.unknown_plan(plan_id)
            body = connection.scalar(
                select(plan_proofs.c.body).where(plan_proofs.c.cycle == plan_id)
            )
        return None if body is None else proof_as_bytes.unpack(bytes(body))

    def update(self, plan: Plan) -> None:
        """Stores the plan's new state. Raises Unknown."""
        with self._database.writing() as connection:
            _update(connection, plan)

    def settle(self, plan: Plan, placement: pd.DataFrame) -> None:
        """Stores the plan's new state and makes its partition the one in force, in one transaction.

        Raises Unknown for a plan that was never proposed, Outdated where neither the plan nor its
        base is in force, and LostLease where another run has the lease or nobody has it any more.
        Nothing is stored then.

        That the base and the lease are what they were is part of the very statement that puts it in
        force.
        """
        PLACEMENT.check(placement)
        with self._database.writing() as connection:
            _update(connection, plan)
            # Nearly always the partition is the one that was proposed, and reading is cheaper than
            # writing.
            if not frames_to_tables.load(connection, placements, plan.id, PLACEMENT).equals(
                placement
            ):
                frames_to_tables.store(connection, placements, plan.id, placement)
            run = self._database.run
            as_before = func.coalesce(in_force.c.cycle, "").in_((plan.base, plan.id))
            is_ours = func.coalesce(select(lease.c.run).scalar_subquery(), "") == run
            if not connection.execute(
                update(in_force).where(as_before, is_ours).values(cycle=plan.id)
            ).rowcount:
                raise _why_not_settled(connection, plan, run)

    def plan(self, plan_id: str) -> Plan:
        # LIKE would give a meaning to % and _, and SQLite's does not tell a from A.
        """The plan with this id, or whose id alone begins so. Raises Unknown."""
        begins = func.substr(plans.c.id, 1, len(plan_id)) == plan_id
        wanted = (
            select(plans.c.id, plans.c.body)
            .where(begins)
            .order_by(plans.c.id)
            .limit(errors_of_stores.LISTED + 1)
        )
        with self._database.reading() as connection:
            bodies = {row.id: row.body for row in connection.execute(wanted)} if plan_id else {}
        if plan_id not in bodies and len(bodies) != 1:
            raise errors_of_stores.unknown_plan(plan_id, tuple(bodies))
        return plan_from_text(bodies.get(plan_id) or next(iter(bodies.values())))

    def plans(self, limit: int = 50, *, state: PlanState | None = None) -> tuple[Plan, ...]:
        """The newest first; only those of one state, where it is given.

        Those of one state are searched by their column: bodies of others, which can be large,
        are not read.
        """
        which = true() if state is None else plans.c.state == state
        wanted = select(plans.c.body).where(which).order_by(*NEWEST_FIRST).limit(limit)
        with self._database.reading() as connection:
            return tuple(plan_from_text(body) for body in connection.scalars(wanted))

    def headlines(self) -> tuple[Headline, ...]:
        """The summary of every plan, the newest first. Quick, however large the plans are."""
        with self._database.reading() as connection:
            rows = connection.execute(select(*FIGURES).order_by(*NEWEST_FIRST))
            return tuple(Headline(*row) for row in rows)

    def headline(self, plan_id: str) -> Headline | None:
        """The summary of the plan with this whole id."""
        with self._database.reading() as connection:
            row = connection.execute(select(*FIGURES).where(plans.c.id == plan_id)).one_or_none()
        return Headline(*row) if row else None


def _why_not_settled(connection: Connection, plan: Plan, run: str) -> FlexError:
    held = lease_of(connection)
    if (held.run if held else "") != run:
        return errors_of_stores.lost_error(run, held)
    return errors_of_stores.overtaken_base(plan, connection.scalar(select(in_force.c.cycle)) or "")


def _state(connection: Connection, plan_id: str) -> str | None:
    return connection.scalar(select(plans.c.state).where(plans.c.id == plan_id))


def _update(connection: Connection, plan: Plan) -> None:
    changed = connection.execute(update(plans).where(plans.c.id == plan.id).values(row_of(plan)))
    if not changed.rowcount:
        raise errors_of_stores.unknown_plan(plan.id)


def row_of(plan: Plan) -> dict[str, object]:
    return {**asdict(headline(plan)), "body": plan_to_text(plan)}

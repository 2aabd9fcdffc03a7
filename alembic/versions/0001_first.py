"""The first tables.

Written out rather than made from flex.store.schema: that page follows the newest revision, this one
never changes.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

TEXT = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
TIME = sa.DateTime(timezone=True)


def upgrade() -> None:
    _wishes()
    _segments()
    _profiles()
    _cycles()
    _runs()


def _wishes() -> None:
    op.create_table(
        "node_states",
        sa.Column("node", TEXT, nullable=False),
        sa.Column("state", TEXT, nullable=False),
        sa.CheckConstraint(
            "state IN ('active', 'draining', 'down')", name=op.f("ck_node_states_state")
        ),
        sa.PrimaryKeyConstraint("node", name=op.f("pk_node_states")),
    )
    op.create_table(
        "pins",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("site", TEXT, nullable=False),
        sa.Column("nodes", sa.JSON(), nullable=False),
        sa.Column("min_replicas", sa.BigInteger(), nullable=False),
        sa.Column("until", TIME),
        sa.Column("reason", TEXT, nullable=False),
        sa.Column("author", TEXT, nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_pins")),
    )


def _segments() -> None:
    op.create_table(
        "streams",
        sa.Column("source", TEXT, nullable=False),
        sa.Column("head", TEXT, nullable=False),
        sa.Column("head_size", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("offset", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("tail", TEXT, nullable=False),
        sa.Column("path", TEXT, nullable=False),
        sa.PrimaryKeyConstraint(
            "source", "head", "head_size", "offset", "tail", name=op.f("pk_streams")
        ),
    )
    op.create_table(
        "segments",
        sa.Column("id", TEXT, nullable=False),
        sa.Column("source", TEXT, nullable=False),
        sa.Column("node", TEXT, nullable=False),
        sa.Column("path", TEXT, nullable=False),
        sa.Column("format", TEXT, nullable=False),
        sa.Column("first_byte", sa.BigInteger(), nullable=False),
        sa.Column("last_byte", sa.BigInteger(), nullable=False),
        sa.Column("first_day", sa.BigInteger(), nullable=False),
        sa.Column("last_day", sa.BigInteger(), nullable=False),
        sa.Column("first_time", sa.BigInteger(), nullable=False),
        sa.Column("last_time", sa.BigInteger(), nullable=False),
        sa.Column("lines", sa.JSON(), nullable=False),
        sa.Column("samples", sa.JSON(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_segments")),
    )
    op.create_index(op.f("ix_segments_last_day_first_day"), "segments", ["last_day", "first_day"])


def _profiles() -> None:
    op.create_table(
        "periods",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("start", TIME, nullable=False),
        sa.Column("end", TIME, nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_periods")),
        sa.UniqueConstraint("start", "end", name=op.f("uq_periods_start_end")),
    )
    op.create_table(
        "profiles",
        sa.Column("period", sa.Integer(), nullable=False),
        sa.Column("position", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("site", TEXT, nullable=False),
        sa.Column("access_bytes", sa.BigInteger(), nullable=False),
        sa.Column("working_set", sa.BigInteger(), nullable=False),
        sa.Column("requests", sa.BigInteger(), nullable=False),
        sa.Column("targets", sa.BigInteger(), nullable=False),
        sa.Column("one_timers", sa.BigInteger(), nullable=False),
        sa.Column("busy_hour_bytes", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("period", "position", name=op.f("pk_profiles")),
        sa.ForeignKeyConstraint(
            ["period"], ["periods.id"], name=op.f("fk_profiles_period_periods")
        ),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "spreads",
        sa.Column("period", sa.Integer(), nullable=False),
        sa.Column("position", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("site", TEXT, nullable=False),
        sa.Column("replicas", sa.BigInteger(), nullable=False),
        sa.Column("working_set", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("period", "position", name=op.f("pk_spreads")),
        sa.ForeignKeyConstraint(["period"], ["periods.id"], name=op.f("fk_spreads_period_periods")),
        sqlite_with_rowid=False,
    )


def _cycles() -> None:
    op.create_table(
        "cycles",
        sa.Column("id", TEXT, nullable=False),
        sa.Column("created", TIME, nullable=False),
        sa.Column("state", TEXT, nullable=False),
        sa.Column("digest", TEXT, nullable=False),
        sa.Column("base", TEXT, nullable=False),
        sa.Column("settled", TIME),
        sa.Column("body", TEXT, nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_cycles")),
    )
    op.create_index(op.f("ix_cycles_created"), "cycles", ["created"])
    op.create_table(
        "placements",
        sa.Column("cycle", TEXT, nullable=False),
        sa.Column("position", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("site", TEXT, nullable=False),
        sa.Column("node", TEXT, nullable=False),
        sa.PrimaryKeyConstraint("cycle", "position", name=op.f("pk_placements")),
        sa.ForeignKeyConstraint(["cycle"], ["cycles.id"], name=op.f("fk_placements_cycle_cycles")),
        sqlite_with_rowid=False,
    )
    in_force = op.create_table(
        "in_force",
        sa.Column("id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("cycle", TEXT),
        sa.CheckConstraint("id = 1", name=op.f("ck_in_force_single")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_in_force")),
        sa.ForeignKeyConstraint(["cycle"], ["cycles.id"], name=op.f("fk_in_force_cycle_cycles")),
    )
    op.bulk_insert(in_force, [{"id": 1}])


def _runs() -> None:
    op.create_table(
        "runs",
        sa.Column("id", TEXT, nullable=False),
        sa.Column("holder", TEXT, nullable=False),
        sa.Column("started", TIME, nullable=False),
        sa.Column("ended", TIME),
        sa.Column("exit_code", sa.Integer()),
        sa.Column("cycle", TEXT, nullable=False),
        sa.Column("message", TEXT, nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_runs")),
    )
    op.create_index(op.f("ix_runs_started"), "runs", ["started"])
    op.create_table(
        "stages",
        sa.Column("run", TEXT, nullable=False),
        sa.Column("name", TEXT, nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("started", TIME, nullable=False),
        sa.Column("ended", TIME),
        sa.Column("outcome", TEXT, nullable=False),
        sa.PrimaryKeyConstraint("run", "name", name=op.f("pk_stages")),
        sa.ForeignKeyConstraint(["run"], ["runs.id"], name=op.f("fk_stages_run_runs")),
    )
    lease = op.create_table(
        "lease",
        sa.Column("id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("run", TEXT),
        sa.Column("since", TIME),
        sa.Column("expires", TIME),
        sa.CheckConstraint("id = 1", name=op.f("ck_lease_single")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_lease")),
        sa.ForeignKeyConstraint(["run"], ["runs.id"], name=op.f("fk_lease_run_runs")),
    )
    op.bulk_insert(lease, [{"id": 1}])

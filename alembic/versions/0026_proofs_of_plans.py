"""Proofs that a plan's moves are needed, for whoever checks them again."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0026"
down_revision = "0025"
branch_labels = None
depends_on = None

TEXT = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")


def upgrade() -> None:
    op.create_table(
        "plan_proofs",
        sa.Column("cycle", TEXT, nullable=False),
        sa.Column("body", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(["cycle"], ["cycles.id"], name="fk_plan_proofs_cycle_cycles"),
        sa.PrimaryKeyConstraint("cycle", name="pk_plan_proofs"),
    )

"""By what all doors are to go, and by what each node's door goes."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0021"
down_revision = "0020"
branch_labels = None
depends_on = None

TEXT = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")


def upgrade() -> None:
    op.create_table(
        "door_order",
        sa.Column("id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("number", sa.BigInteger(), nullable=False),
        sa.Column("plan", TEXT, nullable=False),
        sa.Column("large", TEXT, nullable=False),
        sa.Column("moved", TEXT, nullable=False),
        sa.Column("time", sa.DateTime(timezone=True), nullable=False),
        sa.Column("content", sa.LargeBinary(), nullable=False),
        sa.CheckConstraint("id = 1", name=op.f("ck_door_order_single")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_door_order")),
    )
    op.create_table(
        "door_reports",
        sa.Column("node", TEXT, nullable=False),
        sa.Column("number", sa.BigInteger(), nullable=False),
        sa.Column("moved", TEXT, nullable=False),
        sa.Column("since", sa.DateTime(timezone=True), nullable=False),
        sa.Column("error", TEXT, nullable=False),
        sa.PrimaryKeyConstraint("node", name=op.f("pk_door_reports")),
    )

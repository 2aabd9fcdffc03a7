"""Which bit of a set of members means which node, of each replicated site."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0015"
down_revision = "0014"
branch_labels = None
depends_on = None

TEXT = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")


def upgrade() -> None:
    op.create_table(
        "slots",
        sa.Column("site", TEXT, nullable=False),
        sa.Column("node", TEXT, nullable=False),
        sa.Column("slot", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("site", "node", name=op.f("pk_slots")),
    )

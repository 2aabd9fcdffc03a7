"""What was tried to take dead nodes out of DNS."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0018"
down_revision = "0017"
branch_labels = None
depends_on = None

TEXT = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")


def upgrade() -> None:
    op.create_table(
        "attempts",
        sa.Column("node", TEXT, nullable=False),
        sa.Column("count", sa.Integer(), nullable=False),
        sa.Column("since", sa.DateTime(timezone=True), nullable=False),
        sa.Column("last", sa.DateTime(timezone=True), nullable=False),
        sa.Column("error", TEXT, nullable=False),
        sa.PrimaryKeyConstraint("node", name=op.f("pk_attempts")),
    )

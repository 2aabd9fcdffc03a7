"""What came to doors of nodes that do not have the site, and when each door was read."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0022"
down_revision = "0021"
branch_labels = None
depends_on = None

TEXT = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")


def upgrade() -> None:
    op.create_table(
        "strays",
        sa.Column("node", TEXT, nullable=False),
        sa.Column("name", TEXT, nullable=False),
        sa.Column("requests", sa.BigInteger(), nullable=False),
        sa.Column("first", sa.DateTime(timezone=True), nullable=False),
        sa.Column("last", sa.DateTime(timezone=True), nullable=False),
        sa.Column("counted", sa.BigInteger(), nullable=False),
        sa.Column("read", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("node", "name", name=op.f("pk_strays")),
    )
    op.create_index(op.f("ix_strays_name"), "strays", ["name"])
    op.create_table(
        "doors_read",
        sa.Column("node", TEXT, nullable=False),
        sa.Column("read", sa.DateTime(timezone=True), nullable=False),
        sa.Column("names", sa.BigInteger(), nullable=False),
        sa.Column("requests", sa.BigInteger(), nullable=False),
        sa.Column("kept", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("node", name=op.f("pk_doors_read")),
    )

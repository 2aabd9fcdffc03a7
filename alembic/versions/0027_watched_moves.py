"""What nodes answered for sites that moved, while these are watched."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0027"
down_revision = "0026"
branch_labels = None
depends_on = None

TEXT = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")


def upgrade() -> None:
    op.create_table(
        "answers_of_sites",
        sa.Column("node", TEXT, nullable=False),
        sa.Column("name", TEXT, nullable=False),
        sa.Column("span", sa.BigInteger(), nullable=False),
        sa.Column("requests", sa.BigInteger(), nullable=False),
        sa.Column("errors", sa.BigInteger(), nullable=False),
        sa.Column("times", TEXT, nullable=False),
        sa.PrimaryKeyConstraint("node", "name", "span", name=op.f("pk_answers_of_sites")),
    )
    op.create_index(op.f("ix_answers_of_sites_name"), "answers_of_sites", ["name"])
    op.create_index(op.f("ix_answers_of_sites_span"), "answers_of_sites", ["span"])

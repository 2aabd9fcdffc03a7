"""Where counts are that are no longer in files of their own segment: added up with others, or
deleted.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None

TEXT = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")


def upgrade() -> None:
    op.create_table(
        "moved_counts",
        sa.Column("segment", TEXT, nullable=False),
        sa.Column("files", TEXT, nullable=False),
        sa.PrimaryKeyConstraint("segment", name=op.f("pk_moved_counts")),
        sa.ForeignKeyConstraint(
            ["segment"], ["segments.id"], name=op.f("fk_moved_counts_segment_segments")
        ),
    )

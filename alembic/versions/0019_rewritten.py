"""What a reading counted, as a sum and by its first answer: so a log that was edited after reading
is known again.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0019"
down_revision = "0018"
branch_labels = None
depends_on = None

TEXT = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
NEW = ("signature", "opening", "copy_of")


def upgrade() -> None:
    with op.batch_alter_table("segments") as segments:
        for name in NEW:
            segments.add_column(sa.Column(name, TEXT, nullable=False, server_default=""))
    with op.batch_alter_table("segments") as segments:
        for name in NEW:
            segments.alter_column(name, server_default=None)
    op.create_index(op.f("ix_segments_begins"), "segments", ["begins"])
    op.create_index(op.f("ix_segments_opening_first_time"), "segments", ["opening", "first_time"])

"""Which reading a machine had sent before each, so that one that got lost is noticed whatever log
it was of.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"
branch_labels = None
depends_on = None

TEXT = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")


def upgrade() -> None:
    with op.batch_alter_table("segments") as segments:
        segments.add_column(sa.Column("after", TEXT, nullable=False, server_default=""))
    with op.batch_alter_table("segments") as segments:
        segments.alter_column("after", server_default=None)

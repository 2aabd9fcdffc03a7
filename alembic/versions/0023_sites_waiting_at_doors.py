"""Sites whose visitors doors lead as before, until the wave in which they move begins."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0023"
down_revision = "0022"
branch_labels = None
depends_on = None

TEXT = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")


def upgrade() -> None:
    with op.batch_alter_table("door_order") as table:
        table.add_column(sa.Column("waiting", TEXT, nullable=False, server_default=""))
    with op.batch_alter_table("door_order") as table:
        table.alter_column("waiting", server_default=None)

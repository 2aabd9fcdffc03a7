"""By which columns a log goes on where it names them itself; logs read so far are read anew."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None

TEXT = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")


def upgrade() -> None:
    with op.batch_alter_table("streams") as table:
        table.add_column(sa.Column("format", TEXT, nullable=False, server_default=""))
    with op.batch_alter_table("streams") as table:
        table.alter_column("format", server_default=None)

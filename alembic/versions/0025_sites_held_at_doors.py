"""Sites whose requests wait at doors, and what nodes say of those that they are still answering."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0025"
down_revision = "0024"
branch_labels = None
depends_on = None

TEXT = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")


def upgrade() -> None:
    with op.batch_alter_table("door_order") as table:
        table.add_column(sa.Column("held", TEXT, nullable=False, server_default=""))
        table.add_column(sa.Column("held_since", sa.DateTime(timezone=True)))
    with op.batch_alter_table("door_order") as table:
        table.alter_column("held", server_default=None)
    with op.batch_alter_table("door_reports") as table:
        table.add_column(sa.Column("busy", TEXT, nullable=False, server_default=""))
        table.add_column(sa.Column("busy_names", sa.Integer, nullable=False, server_default="-1"))
    with op.batch_alter_table("door_reports") as table:
        table.alter_column("busy", server_default=None)
        table.alter_column("busy_names", server_default=None)

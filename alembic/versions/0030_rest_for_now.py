"""Whether a site rests only as it could not move then."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0030"
down_revision = "0029"
branch_labels = None
depends_on = None


def upgrade() -> None:
    with op.batch_alter_table("site_moves") as table:
        table.add_column(
            sa.Column("for_now", sa.Boolean(), nullable=False, server_default=sa.false())
        )
    with op.batch_alter_table("site_moves") as table:
        table.alter_column("for_now", server_default=None)

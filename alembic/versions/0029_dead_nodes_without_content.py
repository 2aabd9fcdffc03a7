"""Whether the sites of a dead node go to nodes that do not have their content."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0029"
down_revision = "0028"
branch_labels = None
depends_on = None


def upgrade() -> None:
    with op.batch_alter_table("node_orders") as table:
        table.add_column(
            sa.Column("without_content", sa.Boolean(), nullable=False, server_default=sa.false())
        )
    with op.batch_alter_table("node_orders") as table:
        table.alter_column("without_content", server_default=None)

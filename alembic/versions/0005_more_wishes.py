"""More that a pin can say: nodes not to be on, replicas at most, sites to be together with or apart
from.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None


def upgrade() -> None:
    with op.batch_alter_table("pins") as pins:
        for name in ("not_on", "together", "apart"):
            pins.add_column(sa.Column(name, sa.JSON(), nullable=False, server_default="[]"))
        pins.add_column(
            sa.Column("max_replicas", sa.BigInteger(), nullable=False, server_default="0")
        )
    # The defaults were for the rows that are there.
    with op.batch_alter_table("pins") as pins:
        for name in ("not_on", "together", "apart", "max_replicas"):
            pins.alter_column(name, server_default=None)

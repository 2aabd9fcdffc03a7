"""When a run began that is as of another time."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0032"
down_revision = "0031"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("runs", sa.Column("made", sa.DateTime(timezone=True)))

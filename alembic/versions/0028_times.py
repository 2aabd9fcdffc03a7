"""How long the answers of sites took, and their processor time: none was counted before."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0028"
down_revision = "0027"
branch_labels = None
depends_on = None


def upgrade() -> None:
    for name in ("timed", "service_us", "cpu_us"):
        op.add_column(
            "profiles", sa.Column(name, sa.BigInteger(), nullable=False, server_default="0")
        )

"""Campaigns: wishes for a site on top of the one that stands."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0013"
down_revision = "0012"
branch_labels = None
depends_on = None

TEXT = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")


def upgrade() -> None:
    with op.batch_alter_table("pins") as pins:
        pins.add_column(sa.Column("campaign", TEXT, nullable=False, server_default=""))
    with op.batch_alter_table("pins") as pins:
        pins.alter_column("campaign", server_default=None)

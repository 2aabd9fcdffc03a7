"""What the name servers said when somebody last asked them."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0014"
down_revision = "0013"
branch_labels = None
depends_on = None

TEXT = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")


def upgrade() -> None:
    op.create_table(
        "dns_check",
        sa.Column("id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("said", TEXT, nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_dns_check")),
        sa.CheckConstraint("id = 1", name=op.f("ck_dns_check_single")),
    )

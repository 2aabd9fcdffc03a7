"""What an installation is known by, drawn once; and whether the holder of the lease only waits."""

from __future__ import annotations

import secrets

import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision = "0011"
branch_labels = None
depends_on = None

TEXT = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")


def upgrade() -> None:
    made = op.create_table(
        "installation",
        sa.Column("id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("name", TEXT, nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_installation")),
        sa.CheckConstraint("id = 1", name=op.f("ck_installation_single")),
    )
    op.bulk_insert(made, [{"id": 1, "name": secrets.token_hex(8)}])
    with op.batch_alter_table("lease") as lease:
        lease.add_column(
            sa.Column("waiting", sa.Boolean(), nullable=False, server_default=sa.false())
        )
    with op.batch_alter_table("lease") as lease:
        lease.alter_column("waiting", server_default=None)

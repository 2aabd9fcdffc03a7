"""The journal of updates: what goes to a name server, message by message, written down before it is
sent.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None

TEXT = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")


def upgrade() -> None:
    op.create_table(
        "messages",
        sa.Column("cycle", TEXT, nullable=False),
        sa.Column("number", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("zone", TEXT, nullable=False),
        sa.Column("changes", sa.JSON(), nullable=False),
        sa.Column("state", TEXT, nullable=False),
        sa.Column("note", TEXT, nullable=False),
        sa.PrimaryKeyConstraint("cycle", "number", name=op.f("pk_messages")),
        sa.ForeignKeyConstraint(["cycle"], ["cycles.id"], name=op.f("fk_messages_cycle_cycles")),
        sa.CheckConstraint(
            "state IN ('planned', 'sent', 'done', 'conflict', 'refused')",
            name=op.f("ck_messages_state"),
        ),
    )

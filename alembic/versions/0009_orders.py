"""Orders for nodes with reason and deadline, nodes of people's own, a freeze; pins that begin,
weigh and exclude.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None

TEXT = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
STAMP = sa.DateTime(timezone=True)


def upgrade() -> None:
    _orders()
    op.create_table(
        "nodes",
        sa.Column("name", TEXT, nullable=False),
        sa.Column("addresses", sa.JSON(), nullable=False),
        sa.Column("ram", sa.BigInteger(), nullable=False),
        sa.Column("capacity", sa.Double(), nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_nodes")),
    )
    op.create_table(
        "freeze",
        sa.Column("id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("since", STAMP, nullable=False),
        sa.Column("until", STAMP),
        sa.Column("reason", TEXT, nullable=False),
        sa.Column("author", TEXT, nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_freeze")),
        sa.CheckConstraint("id = 1", name=op.f("ck_freeze_single")),
    )
    _pins()


def _orders() -> None:
    """A new table for the old: SQLite changes no check that is there."""
    op.create_table(
        "node_orders",
        sa.Column("node", TEXT, nullable=False),
        sa.Column("state", TEXT, nullable=False),
        sa.Column("given", STAMP),
        sa.Column("deadline", STAMP),
        sa.Column("reason", TEXT, nullable=False),
        sa.Column("author", TEXT, nullable=False),
        sa.PrimaryKeyConstraint("node", name=op.f("pk_node_orders")),
        sa.CheckConstraint(
            "state IN ('active', 'draining', 'down', 'removed')", name=op.f("ck_node_orders_state")
        ),
    )
    op.execute(
        "INSERT INTO node_orders (node, state, reason, author) SELECT node, state, "
        "'', '' FROM node_states"
    )
    op.drop_table("node_states")


def _pins() -> None:
    with op.batch_alter_table("pins") as pins:
        pins.add_column(sa.Column("since", STAMP))
        pins.add_column(sa.Column("weight", sa.Double(), nullable=False, server_default="1"))
        pins.add_column(sa.Column("sla", TEXT, nullable=False, server_default=""))
        pins.add_column(
            sa.Column("excluded", sa.Boolean(), nullable=False, server_default=sa.false())
        )
    # The defaults were for the rows that are there.
    with op.batch_alter_table("pins") as pins:
        for name in ("weight", "sla", "excluded"):
            pins.alter_column(name, server_default=None)

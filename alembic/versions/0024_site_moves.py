"""Sites on their way from one node to another, and the commands that are run for them."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0024"
down_revision = "0023"
branch_labels = None
depends_on = None

TEXT = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
MOMENT = sa.DateTime(timezone=True)


def upgrade() -> None:
    op.create_table(
        "site_moves",
        sa.Column("id", TEXT, nullable=False),
        sa.Column("site", TEXT, nullable=False),
        sa.Column("source", TEXT, nullable=False),
        sa.Column("target", TEXT, nullable=False),
        sa.Column("plan", TEXT, nullable=False),
        sa.Column("begun", MOMENT, nullable=False),
        sa.Column("state", TEXT, nullable=False),
        sa.Column("ended", MOMENT, nullable=True),
        sa.Column("reason", TEXT, nullable=False),
        sa.Column("rests_until", MOMENT, nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_site_moves")),
    )
    op.create_index(op.f("ix_site_moves_begun"), "site_moves", ["begun"])
    op.create_index(op.f("ix_site_moves_state"), "site_moves", ["state"])
    op.create_table(
        "stage_runs",
        sa.Column("move", TEXT, nullable=False),
        sa.Column("stage", TEXT, nullable=False),
        sa.Column("hook", TEXT, nullable=False),
        sa.Column("state", TEXT, nullable=False),
        sa.Column("tries", sa.BigInteger(), nullable=False),
        sa.Column("begun", MOMENT, nullable=False),
        sa.Column("ended", MOMENT, nullable=True),
        sa.Column("said", TEXT, nullable=False),
        sa.ForeignKeyConstraint(
            ["move"], ["site_moves.id"], name=op.f("fk_stage_runs_move_site_moves")
        ),
        sa.PrimaryKeyConstraint("move", "stage", "hook", name=op.f("pk_stage_runs")),
    )

"""The audit log, tokens, jobs and kept answers; for each cycle the figures that a list shows."""

from __future__ import annotations

import json

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None

TEXT = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
UTC = sa.DateTime(timezone=True)


def upgrade() -> None:
    _audit()
    _tokens()
    _jobs()
    _answers()
    _figures()


def _audit() -> None:
    words = (
        "actor",
        "action",
        "subject",
        "reason",
        "request",
        "before",
        "after",
        "previous",
        "hash",
    )
    op.create_table(
        "audit",
        sa.Column("number", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("time", UTC, nullable=False),
        *(sa.Column(word, TEXT, nullable=False) for word in words),
        sa.PrimaryKeyConstraint("number", name=op.f("pk_audit")),
    )
    op.create_index(op.f("ix_audit_action_number"), "audit", ["action", "number"])


def _tokens() -> None:
    op.create_table(
        "tokens",
        *(
            sa.Column(word, TEXT, nullable=False)
            for word in ("id", "name", "role", "digest", "author")
        ),
        sa.Column("created", UTC, nullable=False),
        *(sa.Column(moment, UTC) for moment in ("expires", "last_used", "revoked")),
        sa.Column("parent", TEXT, nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_tokens")),
        sa.UniqueConstraint("digest", name=op.f("uq_tokens_digest")),
        sa.CheckConstraint(
            "role IN ('viewer', 'operator', 'approver', 'admin')", name=op.f("ck_tokens_role")
        ),
    )


def _jobs() -> None:
    op.create_table(
        "jobs",
        *(sa.Column(word, TEXT, nullable=False) for word in ("id", "kind", "author", "holder")),
        sa.Column("created", UTC, nullable=False),
        *(sa.Column(word, TEXT, nullable=False) for word in ("state", "stage")),
        *(sa.Column(number, sa.BigInteger(), nullable=False) for number in ("done", "size")),
        sa.Column("ended", UTC),
        *(sa.Column(word, TEXT, nullable=False) for word in ("result", "problem", "cancelled_by")),
        sa.Column("past_return", sa.Boolean(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_jobs")),
        sa.CheckConstraint(
            "state IN ('running', 'done', 'failed', 'cancelled')", name=op.f("ck_jobs_state")
        ),
    )
    op.create_index(op.f("ix_jobs_created"), "jobs", ["created"])


def _answers() -> None:
    op.create_table(
        "answers",
        sa.Column("key", TEXT, nullable=False),
        sa.Column("fingerprint", TEXT, nullable=False),
        sa.Column("created", UTC, nullable=False),
        sa.Column("status", sa.Integer(), nullable=False),
        sa.Column("headers", TEXT, nullable=False),
        sa.Column("body", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("key", name=op.f("pk_answers")),
    )
    op.create_index(op.f("ix_answers_created"), "answers", ["created"])


def _figures() -> None:
    """Columns that old rows get from their bodies, and only then must have."""
    with op.batch_alter_table("cycles") as table:
        for name in ("sites", "moves", "scratch_moves"):
            table.add_column(sa.Column(name, sa.BigInteger()))
        table.add_column(sa.Column("worst", sa.Float()))
    cycles = sa.table(
        "cycles", *map(sa.column, ("id", "body", "sites", "moves", "scratch_moves", "worst"))
    )
    connection = op.get_bind()
    for row in connection.execute(sa.select(cycles.c.id, cycles.c.body)).all():
        figures = _figures_of(json.loads(row.body)[0])
        connection.execute(sa.update(cycles).where(cycles.c.id == row.id).values(figures))
    with op.batch_alter_table("cycles") as table:
        for name in ("sites", "moves", "scratch_moves", "worst"):
            table.alter_column(name, nullable=False)


def _figures_of(body: dict[str, object]) -> dict[str, object]:
    moves, after = body["moves"], body["after"]
    assert isinstance(moves, list)
    assert isinstance(after, dict)
    return {
        "sites": body["sites"],
        "moves": len(moves),
        "scratch_moves": body["scratch_moves"],
        "worst": after["worst"],
    }

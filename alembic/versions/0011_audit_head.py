"""The head of the audit log in a row of its own, triggers that keep entries as they are, and what
was there before.
"""

from __future__ import annotations

import dataclasses

import sqlalchemy as sa
from alembic import op

from flex.model.audit_chain import BEGIN, Author, Head, entry
from flex.store import audit_log_protection

revision = "0011"
down_revision = "0010"
branch_labels = None
depends_on = None

TEXT = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
# What is there, by the action whose entry tells of it.
THERE = {
    "node.order": "SELECT node FROM node_orders",
    "node.put": "SELECT name FROM nodes",
    "pin.put": "SELECT site FROM pins",
    "plan.propose": "SELECT id FROM cycles",
    "plan.settle": "SELECT id FROM cycles WHERE state = 'applied'",
    "token.create": "SELECT id FROM tokens",
}
WORDS = ("actor", "action", "subject", "reason", "request", "before", "after", "previous", "hash")
AUDIT = sa.table(
    "audit",
    sa.column("number"),
    sa.column("time", sa.DateTime(timezone=True)),
    *(sa.column(word) for word in WORDS),
)
HEAD = sa.table("audit_head", *map(sa.column, ("id", "number", "hash")))


def upgrade() -> None:
    op.create_table(
        "audit_head",
        sa.Column("id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("number", sa.BigInteger(), nullable=False),
        sa.Column("hash", TEXT, nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_audit_head")),
        sa.CheckConstraint("id = 1", name=op.f("ck_audit_head_single")),
    )
    connection = op.get_bind()
    head = _first_head(connection)
    connection.execute(sa.insert(HEAD), {"id": 1, "number": head.number, "hash": head.hash})
    sqlite = connection.dialect.name == "sqlite"
    entries, of_head = (
        (audit_log_protection.SQLITE_ENTRIES, audit_log_protection.SQLITE_HEAD)
        if sqlite
        else (audit_log_protection.POSTGRESQL_ENTRIES, audit_log_protection.POSTGRESQL_HEAD)
    )
    for statement in (*entries, *of_head):
        op.execute(statement)


def _first_head(connection: sa.Connection) -> Head:
    """Behind an entry that tells what has none of its own, where there is such: it is older than
    the record.
    """
    row = connection.execute(
        sa.select(AUDIT.c.number, AUDIT.c.hash).order_by(AUDIT.c.number.desc())
    ).first()
    head = Head(row.number, row.hash) if row else Head()
    if older := {action: found for action in THERE if (found := _untold(connection, action))}:
        made = entry(head, Author("flex"), BEGIN, "", None, older)
        connection.execute(sa.insert(AUDIT), dataclasses.asdict(made))
        return Head(made.number, made.hash)
    return head


def _untold(connection: sa.Connection, action: str) -> list[str]:
    told = set(connection.scalars(sa.select(AUDIT.c.subject).where(AUDIT.c.action == action)))
    return sorted(set(connection.scalars(sa.text(THERE[action]))) - told)

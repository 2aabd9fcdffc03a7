"""Who asked for a plan, where its list can be asked for it."""

from __future__ import annotations

import json

import sqlalchemy as sa
from alembic import op

revision = "0017"
down_revision = "0016"
branch_labels = None
depends_on = None

TEXT = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")


def upgrade() -> None:
    # No new table in place of the old one, as a column that must have a value would take:
    # placements point to its rows.
    op.add_column("cycles", sa.Column("author", TEXT))
    cycles = sa.table("cycles", *map(sa.column, ("id", "body", "author")))
    connection = op.get_bind()
    # One at a time: a body can be large.
    for plan in connection.scalars(sa.select(cycles.c.id)).all():
        body = json.loads(
            connection.execute(sa.select(cycles.c.body).where(cycles.c.id == plan)).scalar_one()
        )[0]
        connection.execute(
            sa.update(cycles).where(cycles.c.id == plan).values(author=body.get("author", ""))
        )

"""What is needed to judge logs: malformed lines by reason, answers by hour, and when a log was
read.
"""

from __future__ import annotations

import re
from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

# As many hours as a reading keeps.
MOST_HOURS = 4096


def upgrade() -> None:
    with op.batch_alter_table("segments") as table:
        table.add_column(sa.Column("reasons", sa.JSON(), nullable=False, server_default="[]"))
        table.add_column(sa.Column("hours", sa.JSON(), nullable=False, server_default="[]"))
        table.add_column(sa.Column("read_at", sa.BigInteger(), nullable=False, server_default="0"))
    _fill()
    with op.batch_alter_table("segments") as table:
        for name in ("reasons", "hours", "read_at"):
            table.alter_column(name, server_default=None)


def _fill() -> None:
    """Earlier readings did not keep their hours: their lines are spread over the time that they
    tell of.
    """
    names = ("id", "first_byte", "first_time", "last_time", "lines", "samples", "hours", "read_at")
    json = {"lines", "samples", "hours"}
    segments = sa.table(
        "segments", *(sa.column(name, sa.JSON() if name in json else None) for name in names)
    )
    connection = op.get_bind()
    for row in connection.execute(sa.select(segments)).mappings().all():
        values = {"samples": _samples(row), "hours": _hours(row), "read_at": row["last_time"]}
        connection.execute(sa.update(segments).where(segments.c.id == row["id"]).values(values))


def _hours(row: Any) -> list[list[int]]:
    """Any: a row as the database gives it."""
    answers = sum(number for kind, number in row["lines"] if kind in ("counted", "other_status"))
    hours = range(row["first_time"] // 3600, row["last_time"] // 3600 + 1)[-MOST_HOURS:]
    return [[hour, max(answers // len(hours), 1)] for hour in hours] if answers else []


def _samples(row: Any) -> list[dict[str, object]]:
    """`byte 12: text` counted from where the reading began. Any: as above."""
    found = [re.fullmatch(r"byte (\d+): (.*)", sample, re.DOTALL) for sample in row["samples"]]
    return [
        {"offset": row["first_byte"] + int(one[1]), "reason": "", "text": one[2]}
        for one in found
        if one
    ]

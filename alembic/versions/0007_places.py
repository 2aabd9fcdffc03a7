"""Where each reading began and ended in its log, so that one that never came is noticed."""

from __future__ import annotations

import hashlib

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None

TEXT = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")


def upgrade() -> None:
    with op.batch_alter_table("segments") as segments:
        segments.add_column(sa.Column("begins", TEXT, nullable=False, server_default=""))
        segments.add_column(sa.Column("ends", TEXT, nullable=False, server_default=""))
    with op.batch_alter_table("segments") as segments:
        segments.alter_column("begins", server_default=None)
        segments.alter_column("ends", server_default=None)
        segments.create_index("ix_segments_ends", ["ends"])
    _name_ends()


def _name_ends() -> None:
    """The places where logs are now: what is read next goes on behind them."""
    segments = sa.table("segments", *map(sa.column, ("source", "last_byte", "ends")))
    streams = sa.table("streams", *map(sa.column, ("source", "head", "offset", "tail")))
    connection = op.get_bind()
    for stream in connection.execute(sa.select(streams)).all():
        place = hashlib.sha256(f"{stream.head} {stream.offset} {stream.tail}".encode()).hexdigest()[
            :40
        ]
        # Where the names of files say their sites, a stream is of source:site.
        parts = stream.source.split(":")
        sources = [":".join(parts[:end]) for end in range(1, len(parts) + 1)]
        last = segments.c.source.in_(sources) & (segments.c.last_byte == stream.offset)
        connection.execute(
            sa.update(segments).where(last, segments.c.ends == "").values(ends=place)
        )

"""The tables of the database, as the code wants them. The migrations in alembic/ make them; a test
compares the two.

No key holds the name of a site: logs bring names of any length, and PostgreSQL refuses to index
long text. Rows that come by the million (placements, profiles, spreads) are numbered in their
canonical order instead, after the frame's own schema has checked that each key is there once.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from sqlalchemy import (
    JSON,
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    DateTime,
    Dialect,
    Double,
    Float,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    Table,
    Text,
    TypeDecorator,
    UniqueConstraint,
)
from sqlalchemy.types import TypeEngine

from flex.model.audit_chain import Entry
from flex.model.dns_update_journal import JournalRow
from flex.model.drains_and_freezes import Freeze, NodeOrder
from flex.model.jobs import Job
from flex.model.log_reading import Segment, Stream
from flex.model.roles_and_tokens import Token
from flex.model.stray_requests import DoorRead, Stray
from flex.model.wish import Pin
from flex.store import audit_log_protection

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

# A migration can only change a constraint that has a name, and SQLite gives none by itself.
NAMES = {
    "ix": "ix_%(table_name)s_%(column_0_N_name)s",
    "uq": "uq_%(table_name)s_%(column_0_N_name)s",
    "ck": "ck_%(table_name)s_%(constraint_name)s",
    "fk": "fk_%(table_name)s_%(column_0_N_name)s_%(referred_table_name)s",
    "pk": "pk_%(table_name)s",
}

# Compared by code point on every database, so that order and uniqueness do not depend on a server's
# locale.
TEXT = Text().with_variant(Text(collation="C"), "postgresql")


class Utc(TypeDecorator[datetime]):
    """An instant. SQLite keeps no time zone, so everything goes in as UTC and comes out saying
    so.
    """

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(
        self,
        value: datetime | None,
        dialect: Dialect,  # noqa: ARG002
    ) -> datetime | None:
        if value is not None and value.tzinfo is None:
            raise ValueError(f"{value!r} has no time zone")
        return value and value.astimezone(UTC)

    def process_result_value(
        self,
        value: datetime | None,
        dialect: Dialect,  # noqa: ARG002
    ) -> datetime | None:
        if value is None:
            return None
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)


metadata = MetaData(naming_convention=NAMES)

# Fields that hold one of a few texts.
CHOICES = ("JobState", "OrderState", "Role", "RowState", "RunState", "Stage", "State")
# The type of a column by the type of the field that it holds, as the class says it. Any: what the
# column holds.
TYPES: Mapping[str, TypeEngine[Any] | type[TypeEngine[Any]]] = {
    **dict.fromkeys(("str", *CHOICES), TEXT),
    "int": BigInteger,
    "float": Double,
    "bool": Boolean,
    "datetime": Utc,
}


def columns_of(kind: type[DataclassInstance], *key: str) -> Iterator[Column[Any]]:
    """One for each field, by its name."""
    for field in fields(kind):
        text = str(field.type).removesuffix(" | None")
        yield Column(
            field.name,
            JSON if text.startswith("tuple[") else TYPES[text],
            primary_key=field.name in key,
            autoincrement=False,
            nullable=str(field.type).endswith(" | None"),
        )


node_orders = Table(
    "node_orders",
    metadata,
    *columns_of(NodeOrder, "node"),
    CheckConstraint("state IN ('active', 'draining', 'down', 'removed')", name="state"),
)

# Nodes that people added or changed: a row here comes before what the settings say of the node.
nodes = Table(
    "nodes",
    metadata,
    Column("name", TEXT, primary_key=True),
    Column("addresses", JSON, nullable=False),
    Column("ram", BigInteger, nullable=False),
    Column("capacity", Double, nullable=False),
)

# No row while nobody ordered one.
freeze = Table(
    "freeze",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=False),
    *columns_of(Freeze),
    CheckConstraint("id = 1", name="single"),
)

# The last time that somebody asked the name servers; no row before the first.
dns_check = Table(
    "dns_check",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=False),
    Column("said", TEXT, nullable=False),
    CheckConstraint("id = 1", name="single"),
)

# Which bit of a set of members means which node, of each replicated site: given once, and kept.
slots = Table(
    "slots",
    metadata,
    Column("site", TEXT, primary_key=True),
    Column("node", TEXT, primary_key=True),
    Column("slot", Integer, nullable=False),
)

# The large map of who owns which host name, which all nodes have; packed. No row before the first.
owners_map = Table(
    "owners_map",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=False),
    Column("digest", TEXT, nullable=False),
    Column("content", LargeBinary, nullable=False),
    CheckConstraint("id = 1", name="single"),
)

# By what all doors are to go: the newest order with its small map, packed. No row before the first.
door_order = Table(
    "door_order",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=False),
    Column("number", BigInteger, nullable=False),
    Column("plan", TEXT, nullable=False),
    Column("large", TEXT, nullable=False),
    Column("moved", TEXT, nullable=False),
    Column("time", Utc, nullable=False),
    Column("content", LargeBinary, nullable=False),
    # Sites that are led as before the plan, one on each line, until their wave begins.
    Column("waiting", TEXT, nullable=False),
    # Sites whose requests wait, one on each line, and since when some do.
    Column("held", TEXT, nullable=False),
    Column("held_since", Utc),
    CheckConstraint("id = 1", name="single"),
)

# By which order each node's door goes, as the node said last.
door_reports = Table(
    "door_reports",
    metadata,
    Column("node", TEXT, primary_key=True),
    Column("number", BigInteger, nullable=False),
    Column("moved", TEXT, nullable=False),
    Column("since", Utc, nullable=False),
    Column("error", TEXT, nullable=False),
    # Held names that the node is still answering, with how many requests: some, one on each line;
    # and the number of all of them, -1 where it did not say.
    Column("busy", TEXT, nullable=False),
    Column("busy_names", Integer, nullable=False),
)

# Host names have 253 letters at most, so that a key can hold them.
strays = Table(
    "strays",
    metadata,
    *columns_of(Stray, "node", "name"),
    Index(None, "name"),
)

doors_read = Table(
    "doors_read",
    metadata,
    *columns_of(DoorRead, "node"),
)

# One pin a site and campaign, however long the name: see above. The store sees to it.
pins = Table(
    "pins",
    metadata,
    Column("id", Integer, primary_key=True),
    *columns_of(Pin),
)

# A stream is known by what it contains; the path is only where it was last seen.
streams = Table(
    "streams",
    metadata,
    *columns_of(Stream, "source", "head", "head_size", "offset", "tail"),
)

segments = Table(
    "segments",
    metadata,
    *columns_of(Segment, "id"),
    Index(None, "last_day", "first_day"),
    Index(None, "ends"),
    Index(None, "begins"),
    Index(None, "opening", "first_time"),
)

# Segments whose counts are in no files of their own: they share them, or were added up; `files` is
# empty where they were deleted.
moved_counts = Table(
    "moved_counts",
    metadata,
    Column("segment", ForeignKey("segments.id"), primary_key=True),
    Column("files", TEXT, nullable=False),
)

periods = Table(
    "periods",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("start", Utc, nullable=False),
    Column("end", Utc, nullable=False),
    UniqueConstraint("start", "end"),
)

profiles = Table(
    "profiles",
    metadata,
    Column("period", ForeignKey("periods.id"), primary_key=True),
    Column("position", BigInteger, primary_key=True, autoincrement=False),
    Column("site", TEXT, nullable=False),
    Column("access_bytes", BigInteger, nullable=False),
    Column("working_set", BigInteger, nullable=False),
    Column("requests", BigInteger, nullable=False),
    Column("targets", BigInteger, nullable=False),
    Column("one_timers", BigInteger, nullable=False),
    Column("busy_hour_bytes", BigInteger, nullable=False),
    Column("timed", BigInteger, nullable=False, server_default="0"),
    Column("service_us", BigInteger, nullable=False, server_default="0"),
    Column("cpu_us", BigInteger, nullable=False, server_default="0"),
    sqlite_with_rowid=False,
)

spreads = Table(
    "spreads",
    metadata,
    Column("period", ForeignKey("periods.id"), primary_key=True),
    Column("position", BigInteger, primary_key=True, autoincrement=False),
    Column("site", TEXT, nullable=False),
    Column("replicas", BigInteger, nullable=False),
    Column("working_set", BigInteger, nullable=False),
    sqlite_with_rowid=False,
)

# `body` is the whole plan; the columns beside it are what is searched, or looked at with other
# tools.
plans = Table(
    "cycles",
    metadata,
    Column("id", TEXT, primary_key=True),
    Column("created", Utc, nullable=False, index=True),
    Column("state", TEXT, nullable=False),
    Column("digest", TEXT, nullable=False),
    Column("base", TEXT, nullable=False),
    Column("settled", Utc),
    Column("sites", BigInteger, nullable=False),
    Column("moves", BigInteger, nullable=False),
    Column("scratch_moves", BigInteger, nullable=False),
    Column("worst", Float, nullable=False),
    # Each row has one: see its migration.
    Column("author", TEXT),
    # Where it is as of another time.
    Column("made", Utc),
    Column("body", TEXT, nullable=False),
)

placements = Table(
    "placements",
    metadata,
    Column("cycle", ForeignKey("cycles.id"), primary_key=True),
    Column("position", BigInteger, primary_key=True, autoincrement=False),
    Column("site", TEXT, nullable=False),
    Column("node", TEXT, nullable=False),
    sqlite_with_rowid=False,
)

# The proof that so many moves are needed: JSON, packed.
plan_proofs = Table(
    "plan_proofs",
    metadata,
    Column("cycle", ForeignKey("cycles.id"), primary_key=True),
    Column("body", LargeBinary, nullable=False),
)

# What goes to a name server, message by message, written down before it is sent; `changes` are
# places in a zone's plan.
messages = Table(
    "messages",
    metadata,
    Column("cycle", ForeignKey("cycles.id"), primary_key=True),
    *columns_of(JournalRow, "number"),
    CheckConstraint("state IN ('planned', 'sent', 'done', 'conflict', 'refused')", name="state"),
)

# One row each, there from the first migration on.
in_force = Table(
    "in_force",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=False),
    Column("cycle", ForeignKey("cycles.id")),
    CheckConstraint("id = 1", name="single"),
)

lease = Table(
    "lease",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=False),
    Column("run", ForeignKey("runs.id")),
    Column("since", Utc),
    Column("expires", Utc),
    Column("waiting", Boolean, nullable=False),
    CheckConstraint("id = 1", name="single"),
)

# What this database is known by among its like; drawn once.
installation = Table(
    "installation",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=False),
    Column("name", TEXT, nullable=False),
    CheckConstraint("id = 1", name="single"),
)

runs = Table(
    "runs",
    metadata,
    Column("id", TEXT, primary_key=True),
    Column("holder", TEXT, nullable=False),
    Column("started", Utc, nullable=False, index=True),
    Column("ended", Utc),
    Column("exit_code", Integer),
    Column("cycle", TEXT, nullable=False),
    Column("message", TEXT, nullable=False),
    # When a run began by the clock that is as of another time.
    Column("made", Utc),
)

stages = Table(
    "stages",
    metadata,
    Column("run", ForeignKey("runs.id"), primary_key=True),
    Column("name", TEXT, primary_key=True),
    Column("position", Integer, nullable=False),
    Column("started", Utc, nullable=False),
    Column("ended", Utc),
    Column("outcome", TEXT, nullable=False),
)

# What people and nights changed. Rows are only ever added; each holds the hash of the one before
# it.
audit = Table(
    "audit",
    metadata,
    *columns_of(Entry, "number"),
    Index(None, "action", "number"),
)

# The number and hash of the last entry: one row, there from its migration on.
audit_head = Table(
    "audit_head",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=False),
    Column("number", BigInteger, nullable=False),
    Column("hash", TEXT, nullable=False),
    CheckConstraint("id = 1", name="single"),
)

audit_log_protection.watch(audit, audit_head)

tokens = Table(
    "tokens",
    metadata,
    *columns_of(Token, "id"),
    UniqueConstraint("digest"),
    CheckConstraint("role IN ('viewer', 'operator', 'approver', 'admin')", name="role"),
)

jobs = Table(
    "jobs",
    metadata,
    *columns_of(Job, "id"),
    Index(None, "created"),
    CheckConstraint("state IN ('running', 'done', 'failed', 'cancelled')", name="state"),
)

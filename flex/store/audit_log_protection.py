"""Triggers of the database that protect the audit log: they refuse to change an entry or to take
one out.

Takes the tables of the audit log. Adds the triggers to them. The number of the head can only go up
by one.

Does not stop the owner of the database, who can remove the triggers. What is changed then is still
noticed: by the hashes of the entries, by the head, and by changes without an entry
(flex/model/audit_chain.py).
"""

from __future__ import annotations

from sqlalchemy import DDL, Table, event

SQLITE_ENTRIES = (
    """CREATE TRIGGER audit_no_update BEFORE UPDATE ON audit
    BEGIN SELECT RAISE(ABORT, 'entries of the audit log are never changed'); END""",
    """CREATE TRIGGER audit_no_delete BEFORE DELETE ON audit
    BEGIN SELECT RAISE(ABORT, 'entries of the audit log are never taken out'); END""",
)
SQLITE_HEAD = (
    (
        "CREATE TRIGGER audit_head_goes_on BEFORE UPDATE ON audit_head "
        """WHEN NEW.number <> OLD.number + 1
    BEGIN SELECT RAISE(ABORT, 'the head of the audit log only goes on by one'); END"""
    ),
    """CREATE TRIGGER audit_head_no_delete BEFORE DELETE ON audit_head
    BEGIN SELECT RAISE(ABORT, 'the head of the audit log is never taken out'); END""",
)
POSTGRESQL_ENTRIES = (
    """CREATE FUNCTION audit_refuse() RETURNS trigger LANGUAGE plpgsql AS
    $$ BEGIN RAISE EXCEPTION 'the audit log is only added to'; END $$""",
    """CREATE TRIGGER audit_no_change BEFORE UPDATE OR DELETE ON audit
    FOR EACH ROW EXECUTE FUNCTION audit_refuse()""",
    """CREATE TRIGGER audit_no_truncate BEFORE TRUNCATE ON audit
    FOR EACH STATEMENT EXECUTE FUNCTION audit_refuse()""",
)
POSTGRESQL_HEAD = (
    """CREATE TRIGGER audit_head_goes_on BEFORE UPDATE ON audit_head
    FOR EACH ROW WHEN (NEW.number <> OLD.number + 1) EXECUTE FUNCTION audit_refuse()""",
    """CREATE TRIGGER audit_head_no_delete BEFORE DELETE ON audit_head
    FOR EACH ROW EXECUTE FUNCTION audit_refuse()""",
    """CREATE TRIGGER audit_head_no_truncate BEFORE TRUNCATE ON audit_head
    FOR EACH STATEMENT EXECUTE FUNCTION audit_refuse()""",
)


def watch(entries: Table, head: Table) -> None:
    """Have the triggers made with the tables."""
    _attach_triggers(entries, "sqlite", SQLITE_ENTRIES)
    _attach_triggers(head, "sqlite", SQLITE_HEAD)
    _attach_triggers(entries, "postgresql", POSTGRESQL_ENTRIES)
    _attach_triggers(head, "postgresql", POSTGRESQL_HEAD)


def _attach_triggers(table: Table, dialect: str, statements: tuple[str, ...]) -> None:
    for statement in statements:
        # SQLAlchemy leaves it without types.
        trigger = DDL(statement).execute_if(dialect=dialect)  # type: ignore[no-untyped-call]
        event.listen(table, "after_create", trigger)

"""A record that is not whole is found out, whatever was done to it."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from sqlalchemy import Delete, Insert, Update, delete, insert, update

from flex.access import Token, digest_of
from flex.audit import NOTHING, Head
from flex.domain import Pin
from flex.errors import StoreError
from flex.ports import Store
from flex.store import open_store, schema
from flex.store.database import Database
from flex_api.auditing import verified
from tests.store.tampering import unguarded

NOW = datetime(2026, 3, 1, 2, 30, tzinfo=UTC)
audit, head, pins = schema.audit, schema.audit_head, schema.pins
EMPTIED = delete(audit)
FORGOTTEN = update(head).values(number=0, hash=NOTHING)
FOREIGN_PIN = insert(pins).values(
    site="b.example", nodes=["n1"], min_replicas=1, reason="", author="", not_on=[], max_replicas=0, together=[],
    apart=[], weight=1.0, sla="", excluded=False, campaign="",
)  # fmt: skip
# Any: SQLAlchemy's statements are generic in what they return.
Done = tuple[Delete | Update | Insert, ...] | tuple[Any, ...]


def filled(store: Store) -> None:
    store.put_pin(Pin("a.example", ("n1",)))
    store.put_token(Token("t1", "nightly", "viewer", digest_of("secret"), "anna", NOW))
    store.note("try", "", None, 1)


def test_a_whole_record_says_how_many_entries_hold(store: Store) -> None:
    assert verified(store) == Head()
    filled(store)
    whole = verified(store)
    assert whole == store.audit_head()
    store.drop_pin("a.example")
    assert verified(store, whole.hash).number == 4


def test_a_hash_that_was_noted_elsewhere_must_be_there(store: Store) -> None:
    filled(store)
    with pytest.raises(StoreError, match="no entry has the hash"):
        verified(store, "f" * 64)


TAMPERED: dict[str, tuple[Done, str]] = {
    "emptied": ((EMPTIED,), "3 entries are missing at the end: there were 3"),
    "cut": ((delete(audit).where(audit.c.number == 3),), "1 entries are missing at the end"),
    "emptied, head and all": ((EMPTIED, FORGOTTEN), "a.example is there without an entry pin.put, and 1 more"),
    "cut, and the head set back": (
        (delete(audit).where(audit.c.number == 3), update(head).values(number=2)),
        "its end is not what was written last",
    ),
    "added past FLEX": ((FOREIGN_PIN,), "b.example is there without an entry pin.put"),
    "altered": ((update(audit).where(audit.c.number == 1).values(actor="nobody"),), "entry 1 was altered"),
}


@pytest.mark.parametrize("how", TAMPERED)
def test_whatever_is_done_past_flex_is_found(url: str, how: str) -> None:
    done, said = TAMPERED[how]
    with open_store(url) as store:
        filled(store)
        database = Database(url)
        with unguarded(database) as connection:
            for statement in done:
                connection.execute(statement)
        database.close()
        with pytest.raises(StoreError, match=said) as found:
            verified(store)
    assert found.value.exit_code == 25

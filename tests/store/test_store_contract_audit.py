"""What every store promises about the audit log, tokens and jobs, and about changing
things together.
"""

from __future__ import annotations

import inspect
import json
import threading
from dataclasses import fields, replace
from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import delete, text, update
from sqlalchemy.exc import IntegrityError

from flex.errors import StoreError
from flex.frame_schemas import PROFILES, SPREADS
from flex.model.audit_chain import Author, Entry, Head, fault_of_chain
from flex.model.jobs import Job
from flex.model.nightly_run import NightlyRun
from flex.model.period import Period
from flex.model.roles_and_tokens import Token, digest_of
from flex.model.wish import Pin
from flex.store import MemoryStore, Store, open_store, schema
from flex.store.audit_writer import CHANGES
from flex.store.database_by_url import Database
from tests.store.tampering import unguarded

NOW = datetime(2026, 3, 1, 2, 30, tzinfo=UTC)
DAY = timedelta(days=1)
ANNA = Author("local:anna", "launch", "r-1", lambda: NOW)
TOKEN = Token(
    "t1", "nightly", "operator", digest_of("secret"), "local:anna", NOW, expires=NOW + DAY
)


def noted(store: Store) -> list[tuple[str, str]]:
    return [(entry.action, entry.subject) for entry in store.entries()]


def test_a_change_is_noted_with_who_and_why_and_what_was_before(store: Store) -> None:
    mine = store.in_the_name_of(ANNA)
    mine.put_pin(Pin("a.example", ("n1",)))
    mine.put_pin(Pin("a.example", ("n2",)))
    mine.drop_pin("a.example")
    first, second, third = store.entries()
    assert (first.actor, first.reason, first.request, first.time) == (
        "local:anna",
        "launch",
        "r-1",
        NOW,
    )
    assert (first.action, first.subject, first.before) == ("pin.put", "a.example", "null")
    assert (json.loads(second.before), json.loads(second.after)) == (
            {"campaign": "", "nodes": ["n1"]}, {"campaign": "", "nodes": ["n2"]},
        )  # fmt: skip
    assert (third.action, third.after) == ("pin.drop", "null")


def test_what_changes_nothing_is_not_noted(store: Store) -> None:
    assert not store.drop_pin("a.example")
    store.put_freeze(None)
    assert store.entries() == ()


def test_a_stamp_is_another_one_after_each_change_and_none_while_one_is_made(url: str) -> None:
    with open_store(url) as mine, open_store(url) as other:
        first = mine.stamp()
        assert mine.stamp() == first
        if first is None:
            return
        mine.put_job(Job("j1", "plan", "anna", "host:1:1", NOW))
        second = mine.stamp()
        other.put_job(Job("j2", "plan", "anna", "host:1:1", NOW))
        assert len({first, second, mine.stamp()}) == 3
        with mine.together():
            assert mine.stamp() is None


def test_the_last_entry_is_known_at_once_whoever_made_it(url: str) -> None:
    with open_store(url) as mine, open_store(url) as other:
        for number in range(1, 4):
            assert mine.last_number() == number - 1
            (mine, other)[number % 2].in_the_name_of(ANNA).put_pin(
                Pin(f"{number}.example", ("n1",))
            )
            assert (
                mine.last_number(),
                other.last_number("pin.put"),
                mine.last_number("pin.drop"),
            ) == (number, number, 0)
        with mine.together():
            mine.put_pin(Pin("4.example", ("n1",)))
            assert (mine.last_number(), other.last_number()) == (4, 3)


def test_a_run_and_its_profiles_are_noted(store: Store) -> None:
    run = NightlyRun("r1", "host:1:1", NOW, message="nightly")
    store.begin(run, DAY, NOW)
    store.put_profiles(Period.days_before(NOW, 1), PROFILES.empty(), SPREADS.empty())
    store.end(replace(run, ended=NOW, exit_code=0))
    assert noted(store) == [("run.begin", "r1"), ("profiles.put", "2026-02-28"), ("run.end", "r1")]


def test_that_a_lease_was_taken_over_is_noted_with_what_the_lost_run_came_to(store: Store) -> None:
    gone = NightlyRun("r1", "elsewhere.example:1:1", NOW, message="nightly")
    store.begin(gone, DAY, NOW)
    store.begin(NightlyRun("r2", "host:1:1", NOW + DAY, message="apply"), DAY, NOW + DAY)
    assert noted(store) == [("run.begin", "r1"), ("run.begin", "r2"), ("run.end", "r1")]
    told = json.loads(store.entries()[-1].after)
    assert told["exit_code"] == 137
    assert "interrupted" in told["message"]


# What keeps the books of a run or of the API itself: no wish of a person, no plan, nothing that
# changes DNS.
BOOKS = {
    "put_job", "use_token", "note", "beat",
    "stage", "record", "adopt", "move_counts", "drop_profiles", "new_journal", "wait", "go_on",
    "put_check", "put_slots", "put_large_map", "put_attempt", "drop_attempt", "record_all",
    "put_door_order", "note_door_reports", "note_strays", "put_site_moves", "put_stage_run",
    "keep_proof",
    "put_answers", "forget_answers",
}  # fmt: skip
READ = {
    "proof_of",
    "stamp", "node_orders", "own_nodes", "freeze", "last_check", "bytes_sent", "slots", "attempts",
    "readings", "in_force", "history", "with_opening", "behind", "streams_of", "pins", "pin",
    "every_stream", "segments", "moved_counts", "profiles", "placement", "placement_of",
    "plan", "plans", "headlines", "headline", "journal", "runs", "runs_about", "run_of",
    "sites_of_nodes",
    "entries", "found_entries",
    "last_number", "last_of_each", "audit_head", "installation", "holds", "tokens", "token",
    "token_of", "jobs", "job", "places_where_readings_ended", "known_segments", "in_the_name_of",
    "together", "close",
    "holding", "large_map", "large_map_digest", "door_order", "moved_map", "door_reports",
    "strays", "doors_read", "site_moves", "stage_runs", "watched_moves", "answers_of",
    "count_site_moves",
}  # fmt: skip


def test_every_method_of_a_store_reads_or_is_noted_or_keeps_the_books() -> None:
    public = {
        name
        for name, _ in inspect.getmembers(Store, inspect.isfunction)
        if not name.startswith("_")
    }
    assert public == BOOKS | READ | set(CHANGES)


def test_the_chain_holds_from_the_first_entry_on(store: Store) -> None:
    for number in range(25):
        store.note("try", str(number), None, {"é": number, "at": NOW})
    entries = store.entries()
    assert [entry.number for entry in entries] == list(range(1, 26))
    assert fault_of_chain(entries) == ""
    assert fault_of_chain(entries[10:], Head(10, entries[9].hash)) == ""
    assert store.audit_head() == Head(25, entries[-1].hash)


def altered(entries: list[Entry]) -> dict[str, list[Entry]]:
    return {
        "2 was altered": [entries[0], replace(entries[1], actor="nobody"), *entries[2:]],
        "2 is missing": [entries[0], *entries[2:]],
        "1 is missing": entries[1:],
        "3 does not follow": [*entries[:2], replace(entries[2], previous="0" * 64)],
    }


@pytest.mark.parametrize(
    "how", ["2 was altered", "2 is missing", "1 is missing", "3 does not follow"]
)
def test_whatever_is_done_to_an_entry_shows(store: Store, how: str) -> None:
    for number in range(4):
        store.note("try", str(number), None, number)
    assert how in fault_of_chain(altered(list(store.entries()))[how])


@pytest.mark.parametrize("field", [field.name for field in fields(Entry)])
def test_no_field_of_an_entry_can_be_altered_by_however_little(field: str) -> None:
    store = MemoryStore()
    for number in range(3):
        store.note("try", str(number), None, number)
    entries = list(store.entries())
    was = getattr(entries[1], field)
    other = {int: 1, datetime: timedelta(microseconds=1), str: "."}[type(was)]
    entries[1] = replace(entries[1], **{field: was + other})
    assert fault_of_chain(entries) != ""


def test_who_alters_the_database_is_found_out(url: str) -> None:
    database = Database(url)
    store = Store(database)
    for number in range(3):
        store.note("try", str(number), None, number)
    with unguarded(database) as connection:
        connection.execute(
            update(schema.audit).where(schema.audit.c.number == 2).values(subject="9")
        )
    assert "entry 2" in fault_of_chain(store.entries())
    with unguarded(database) as connection:
        connection.execute(delete(schema.audit).where(schema.audit.c.number == 2))
    assert "entry 2 is missing" in fault_of_chain(store.entries())
    store.close()


CHANGES_OF_THE_PAST = (
    "UPDATE audit SET actor = 'nobody'",
    "DELETE FROM audit",
    "DELETE FROM audit WHERE number = 3",
    "UPDATE audit_head SET number = 0",
    "DELETE FROM audit_head",
)


@pytest.mark.parametrize("statement", CHANGES_OF_THE_PAST)
def test_the_database_itself_refuses_to_change_what_was_noted(url: str, statement: str) -> None:
    with open_store(url) as store:
        for number in range(3):
            store.note("try", str(number), None, number)
        database = Database(url)
        with (
            pytest.raises((StoreError, IntegrityError), match="audit log"),
            database.writing() as connection,
        ):
            connection.execute(text(statement))
        database.close()
        assert len(store.entries()) == 3


def test_where_the_newest_entries_were_taken_out_the_next_does_not_take_their_numbers(
    url: str,
) -> None:
    with open_store(url) as store:
        for number in range(3):
            store.note("try", str(number), None, number)
        database = Database(url)
        with unguarded(database) as connection:
            connection.execute(delete(schema.audit).where(schema.audit.c.number > 1))
        database.close()
        assert store.note("try", "again", None, 4).number == 4
        assert "entry 2 is missing" in fault_of_chain(store.entries())


def test_the_found_entries_can_be_told_apart(store: Store) -> None:
    store.in_the_name_of(ANNA).note("pin.put", "a", None, 1)
    store.note("pin.drop", "a", 1, None)
    store.note("pinned", "b", 1, None)
    found = [entry.number for entry in store.found_entries(10)]
    assert found == [3, 2, 1]
    assert [entry.number for entry in store.found_entries(10, action="pin")] == [2, 1]
    assert [entry.number for entry in store.found_entries(10, actor="local:anna")] == [1]
    assert [entry.number for entry in store.found_entries(1, behind=3)] == [2]
    assert [entry.number for entry in store.found_entries(9, 1, down=False)] == [2, 3]
    assert [entry.number for entry in store.found_entries(9, since=NOW + DAY)] == [3, 2]
    assert (
        store.last_number(),
        store.last_number("pin.put"),
        store.last_number("pin.put", "pin.drop"),
        store.last_number("none"),
    ) == (3, 1, 2, 0)


def test_what_is_done_together_is_done_whole_or_not_at_all(store: Store) -> None:
    store.put_pin(Pin("a.example", ("n1",)))

    def half() -> None:
        with store.together():
            store.put_pin(Pin("b.example", ("n1",)))
            store.drop_pin("a.example")
            assert [pin.site for pin in store.pins()] == ["b.example"]
            raise RuntimeError

    with pytest.raises(RuntimeError):
        half()
    assert [pin.site for pin in store.pins()] == ["a.example"]
    assert noted(store) == [("pin.put", "a.example")]


def test_a_change_whose_entry_cannot_be_written_is_not_made(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError("no space left on device")

    store.put_pin(Pin("a.example", ("n1",)))
    monkeypatch.setattr(type(store), "note", full)
    with pytest.raises(OSError, match="no space left"):
        store.put_pin(Pin("b.example", ("n1",)))
    with pytest.raises(OSError, match="no space left"):
        store.drop_pin("a.example")
    assert [pin.site for pin in store.pins()] == ["a.example"]


def test_of_many_who_look_before_they_write_none_loses_what_another_wrote(store: Store) -> None:
    def count() -> None:
        for _ in range(5):
            with store.together():
                pin = store.pin("a.example") or Pin("a.example")
                store.put_pin(replace(pin, min_replicas=pin.min_replicas + 1))

    threads = [threading.Thread(target=count) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    pin = store.pin("a.example")
    assert pin is not None
    assert pin.min_replicas == 41
    assert fault_of_chain(store.entries()) == ""
    assert len(store.entries()) == 40


def test_a_token_is_known_by_its_digest_and_revoked_with_its_sessions(store: Store) -> None:
    store.put_token(TOKEN)
    store.put_token(replace(TOKEN, id="t2", digest=digest_of("other"), parent="t1"))
    assert store.token_of(digest_of("secret")) == TOKEN
    assert store.token_of(digest_of("wrong")) is None
    assert (store.token("t1"), store.token("t3")) == (TOKEN, None)
    store.use_token("t1", NOW)
    assert store.revoke_token("t1", NOW)
    assert not store.revoke_token("t1", NOW)
    assert [token.revoked for token in store.tokens()] == [NOW, NOW]
    assert store.tokens()[0].last_used == NOW


def test_no_digest_of_a_token_is_in_the_audit_log(store: Store) -> None:
    store.put_token(TOKEN)
    store.revoke_token("t1", NOW)
    assert [entry.action for entry in store.entries()] == ["token.create", "token.revoke"]
    assert TOKEN.digest not in "".join(entry.before + entry.after for entry in store.entries())


def test_a_job_is_kept_as_it_was_last_put(store: Store) -> None:
    job = Job("j1", "plan", "anna", "host:1:1", NOW)
    store.put_job(job)
    store.put_job(replace(job, state="done", result="/api/v1/plans/p1", ended=NOW + DAY))
    store.put_job(Job("j2", "plan", "anna", "host:1:1", NOW + DAY))
    assert [(one.id, one.state) for one in store.jobs()] == [("j2", "running"), ("j1", "done")]
    assert store.job("j1") == store.jobs()[1]
    assert store.job("j3") is None


def test_the_last_word_about_each_subject_is_found(store: Store) -> None:
    store.put_pin(Pin("a.example", ("n1",)))
    store.put_pin(Pin("a.example", ("n2",), until=NOW, campaign="100%_sale"))
    store.put_pin(Pin("b.example", ("n1",)))
    store.drop_pin("b.example")
    store.note("try", "a.example", None, 1)
    assert {
        subject: (entry.action, entry.number)
        for subject, entry in store.last_of_each("pin.put", "pin.drop").items()
    } == {"a.example": ("pin.put", 2), "b.example": ("pin.drop", 4)}
    permanent = store.last_of_each("pin.put", "pin.drop", saying=['"campaign":""'])
    assert {one: entry.number for one, entry in permanent.items()} == {
        "a.example": 1,
        "b.example": 4,
    }
    assert list(store.last_of_each("pin.put", saying=["100%_sale"])) == ["a.example"]
    assert store.last_of_each("pin.put", saying=["1000_sale"]) == {}
    assert store.last_of_each("freeze") == {}

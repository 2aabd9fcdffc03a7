"""What every store promises about the journal of updates."""

from __future__ import annotations

from datetime import UTC, datetime

from flex.frame_schemas import PLACEMENT
from flex.model.balance import Balance, NodeLoad
from flex.model.dns_update_journal import JournalRow
from flex.model.period import Period
from flex.model.plan import Plan, Proven
from flex.store import Store, open_store

NOW = datetime(2026, 3, 1, 2, 30, tzinfo=UTC)
ROWS = tuple(
    JournalRow(number, f"z{number % 2}.example.", (number, number + 10)) for number in range(40)
)


def proposed(store: Store, id_: str) -> str:
    balance = Balance((NodeLoad("n1", 100.0, 100.0, 2),), 0.0)
    made = Plan(
        id_,
        NOW,
        Period.days_before(NOW, 1),
        "",
        "abc",
        Proven("exact", 1, True),
        (),
        3,
        2,
        None,
        balance,
        (),
        (),
    )
    store.propose(made, PLACEMENT.empty())
    return id_


def test_what_was_intended_is_read_back_in_order(store: Store) -> None:
    journal = store.journal(proposed(store, "one"))
    assert journal.rows() == ()
    journal.intend(ROWS[20:])
    journal.intend(ROWS[:20])
    assert store.journal("one").rows() == ROWS


def test_rows_end_as_they_were_told(store: Store) -> None:
    journal = store.journal(proposed(store, "one"))
    journal.intend(ROWS)
    journal.became([1, 3], "sent")
    journal.became([3], "done")
    journal.became([5], "conflict", "somebody else")
    journal.became([], "refused")
    states = {row.number: (row.state, row.note) for row in journal.rows() if row.state != "planned"}
    assert states == {1: ("sent", ""), 3: ("done", ""), 5: ("conflict", "somebody else")}


def test_a_new_attempt_begins_with_an_empty_journal_and_leaves_those_of_others_alone(
    store: Store,
) -> None:
    for id_ in ("one", "two"):
        store.journal(proposed(store, id_)).intend(ROWS)
    assert store.new_journal("one").rows() == ()
    assert store.journal("one").rows() == ()
    assert store.journal("two").rows() == ROWS


def test_a_journal_survives_the_one_who_wrote_it(url: str) -> None:
    with open_store(url) as first:
        first.journal(proposed(first, "one")).intend(ROWS)
    with open_store(url) as later:
        assert later.journal("one").rows() == ROWS

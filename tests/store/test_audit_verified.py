"""A record that is not whole is found out, whatever was done to it."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import Delete, Insert, Update, delete, insert, update

from flex.audit_log_vs_database import Record
from flex.errors import StoreError
from flex.frame_schemas import PLACEMENT
from flex.model.audit_chain import NOTHING, Entry, Head, as_text
from flex.model.balance import Balance
from flex.model.drains_and_freezes import Freeze, NodeOrder, OrderState
from flex.model.limits_and_approvals import Approval
from flex.model.nodes import Node
from flex.model.period import Period
from flex.model.plan import Plan, PlanState, Proven
from flex.model.roles_and_tokens import Token, digest_of
from flex.model.wish import Pin
from flex.store import MemoryStore, Store, open_store, schema
from flex.store.database_by_url import Database
from flex.store.plans_as_json import plan_to_text
from flex_api.verify_audit_log import there, verify_record
from tests.store.tampering import unguarded

NOW, HOUR = datetime(2026, 3, 1, 2, 30, tzinfo=UTC), timedelta(hours=1)
audit, head, pins = schema.audit, schema.audit_head, schema.pins
EMPTIED = delete(audit)
FORGOTTEN = update(head).values(number=0, hash=NOTHING)
FOREIGN_PIN = insert(pins).values(
    nodes=["n1"], min_replicas=1, reason="", author="", not_on=[], max_replicas=0, together=[],
    apart=[],
    weight=1.0, sla="", excluded=False, campaign="",
)  # fmt: skip
# Any: SQLAlchemy's statements are generic in what they return.
Done = tuple[Delete | Update | Insert, ...] | tuple[Any, ...]


def filled(store: Store) -> None:
    store.put_pin(Pin("a.example", ("n1",)))
    store.put_token(Token("t1", "nightly", "viewer", digest_of("secret"), "anna", NOW))
    store.note("try", "", None, 1)


def test_a_whole_record_says_how_many_entries_hold(store: Store) -> None:
    assert verify_record(store) == Head()
    filled(store)
    whole = verify_record(store)
    assert whole == store.audit_head()
    store.drop_pin("a.example")
    assert verify_record(store, whole.hash).number == 4


def test_a_hash_that_was_noted_elsewhere_must_be_there(store: Store) -> None:
    filled(store)
    with pytest.raises(StoreError, match="no entry has the hash"):
        verify_record(store, "f" * 64)


TAMPERED: dict[str, tuple[Done, str]] = {
    "emptied": ((EMPTIED,), "3 entries are missing at the end: there were 3"),
    "cut": ((delete(audit).where(audit.c.number == 3),), "1 entries are missing at the end"),
    "emptied, head and all": (
        (EMPTIED, FORGOTTEN),
        (
            "the pin of a.example is there without an entry pin.put\n  the token t1 is "
            "there without an entry token.create"
        ),
    ),
    "cut, and the head set back": (
        (delete(audit).where(audit.c.number == 3), update(head).values(number=2)),
        "its end is not what was written last",
    ),
    "added past FLEX": (
        (FOREIGN_PIN.values(site="b.example"),),
        "b.example is there without an entry pin.put",
    ),
    "altered": (
        (update(audit).where(audit.c.number == 1).values(actor="nobody"),),
        "entry 1 was altered",
    ),
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
            verify_record(store)
    assert found.value.exit_code == 25


def plan(id_: str, base: str = "") -> Plan:
    return Plan(
        id=id_,
        created=NOW,
        period=Period.days_before(NOW, 1),
        base=base,
        digest=id_,
        quality=Proven("exact", 1, proven=True),
        moves=(),
        scratch_moves=0,
        sites=1,
        before=None,
        after=Balance((), 0.0),
        forecasts=(),
        zone_plans=(),
    )


def lived_in(store: Store) -> None:
    """One of everything that the record tells of, each changed at least once."""
    filled(store)
    store.put_token(
        Token("t2", "session", "viewer", digest_of("other"), "anna", NOW, NOW + HOUR, parent="t1")
    )
    store.revoke_token("t1", NOW + HOUR)
    store.put_token(Token("t3", "boss", "admin", digest_of("third"), "anna", NOW, NOW + HOUR))
    store.use_token("t3", NOW + HOUR)
    store.put_pin(Pin("a.example", ("n2",), weight=0.1))
    for campaign in ("spring", "autumn"):
        store.put_pin(Pin("a.example", (), min_replicas=2, campaign=campaign))
    store.put_pin(Pin("a.example", (), min_replicas=3, campaign="autumn", until=NOW + HOUR))
    store.put_pin(Pin("gone.example", ("n1",)))
    store.drop_pin("gone.example")
    store.order_node(NodeOrder("n1", "draining", NOW, NOW + HOUR))
    store.order_node(NodeOrder("n1", "active", NOW))
    store.put_node(Node("n2", ("192.0.2.2",), 2**34, 1.5))
    store.put_node(Node("n2", ("192.0.2.2",), 2**35, 1.5))
    store.put_freeze(Freeze(NOW))
    store.put_freeze(Freeze(NOW, NOW + HOUR))
    first, rejected, waiting = plan("c1"), plan("c2", "c1"), plan("c3", "c1")
    for one in (first, rejected, waiting):
        store.propose(one, PLACEMENT.empty())
    store.settle(replace(first, state="applied", settled=NOW), PLACEMENT.empty())
    said = Approval("reject", "bert", NOW, "must never be")
    store.update(replace(rejected, state="discarded", approvals=(said,)))


tokens, plans, orders, nodes, freeze = (
    schema.tokens,
    schema.plans,
    schema.node_orders,
    schema.nodes,
    schema.freeze,
)
APPROVED = replace(plan("c3", "c1"), approvals=(Approval("approve", "bert", NOW),))
TAKEN_UP = replace(plan("c2", "c1"), approvals=(Approval("reject", "bert", NOW, "must never be"),))
SPRING, AUTUMN = pins.c.campaign == "spring", pins.c.campaign == "autumn"

# What is done past FLEX, and all that is said of it.
CHANGED: dict[str, tuple[Done, str]] = {
    "a role": (
        (update(tokens).where(tokens.c.id == "t3").values(role="viewer"),),
        'the token t3: role is "viewer", its entries say "admin" (the last is 6)',
    ),
    "an end": (
        (update(tokens).where(tokens.c.id == "t3").values(expires=NOW + 2 * HOUR),),
        (
            'the token t3: expires is "2026-03-01T04:30:00.000000+00:00", its entries say '
            '"2026-03-01T03:30:00.000000+00:00" (the last is 6)'
        ),
    ),
    "a secret": (
        (update(tokens).where(tokens.c.id == "t3").values(digest=digest_of("mine")),),
        (
            f'the token t3: known_by is "{digest_of(digest_of("mine"))}", its entries say '
            f'"{digest_of(digest_of("third"))}" (the last is 6)'
        ),
    ),
    "a token revived": (
        (update(tokens).where(tokens.c.id == "t1").values(revoked=None),),
        (
            "the token t1: revoked is null, its entries say "
            '"2026-03-01T03:30:00.000000+00:00" (the last is 5)'
        ),
    ),
    "a session revived": (
        (update(tokens).where(tokens.c.id == "t2").values(revoked=None),),
        (
            "the token t2: revoked is null, its entries say "
            '"2026-03-01T03:30:00.000000+00:00" (the last is 5)'
        ),
    ),
    "a token taken out": (
        (delete(tokens).where(tokens.c.id == "t3"),),
        "the token t3 is not there, though entry 6 tells of it",
    ),
    "a pin": (
        (update(pins).where(pins.c.campaign == "").values(nodes=["n1"]),),
        'the pin of a.example: nodes is ["n1"], its entries say ["n2"] (the last is 7)',
    ),
    "a campaign": (
        (update(pins).where(AUTUMN).values(min_replicas=1, until=None),),
        (
            "the campaign autumn of a.example: min_replicas is 1, its entries say 3 "
            "(the last is 10)\n"
            "  the campaign autumn of a.example: until is null, its entries say "
            '"2026-03-01T03:30:00.000000+00:00" (the last is 10)'
        ),
    ),
    "a campaign taken out": (
        (delete(pins).where(SPRING),),
        "the campaign spring of a.example is not there, though entry 8 tells of it",
    ),
    "a pin made again": (
        (FOREIGN_PIN.values(site="gone.example"),),
        "the pin of gone.example is there, though entry 12 took it away",
    ),
    "an order": (
        (update(orders).values(state="down"),),
        'the order for node n1: state is "down", its entries say "active" (the last is 14)',
    ),
    "an order taken out": (
        (delete(orders),),
        "the order for node n1 is not there, though entry 14 tells of it",
    ),
    "a node": (
        (update(nodes).values(capacity=9.0),),
        "the node n2: capacity is 9.0, its entries say 1.5 (the last is 16)",
    ),
    "a node taken out": ((delete(nodes),), "the node n2 is not there, though entry 16 tells of it"),
    "a freeze": (
        (update(freeze).values(until=None),),
        (
            "the freeze: until is null, its entries say "
            '"2026-03-01T03:30:00.000000+00:00" (the last is 18)'
        ),
    ),
    "a freeze taken out": (
        (delete(freeze),),
        "the freeze is not there, though entry 18 tells of it",
    ),
    "a plan's state beside it": (
        (update(plans).where(plans.c.id == "c2").values(state="proposed"),),
        'the plan c2: state is "proposed", its entries say "discarded" (the last is 23)',
    ),
    "a plan's state": (
        (update(plans).where(plans.c.id == "c2").values(body=plan_to_text(TAKEN_UP)),),
        'the plan c2: state is "proposed", its entries say "discarded" (the last is 23)',
    ),
    "a plan's approval": (
        (update(plans).where(plans.c.id == "c3").values(body=plan_to_text(APPROVED)),),
        (
            'the plan c3: approvals is [{"author":"bert","decision":"approve","force":[],'
            '"given":"2026-03-01T02:30:00.000000+00:00","reason":""}], its entries '
            "say [] (the last is 21)"
        ),
    ),
    "what is in force": (
        (update(schema.in_force).values(cycle="c3"),),
        'the partition in force: plan is "c3", its entries say "c1" (the last is 22)',
    ),
    "nothing in force": (
        (update(schema.in_force).values(cycle=None),),
        "the partition in force is not there, though entry 22 tells of it",
    ),
}


# The statements are the same on both; one of them shows each time that PostgreSQL takes them.
ON_EACH = [
    *(("sqlite", what) for what in CHANGED),
    *(
        pytest.param("postgresql", what, marks=[pytest.mark.real, *([pytest.mark.slow] * bool(at))])
        for at, what in enumerate(CHANGED)
    ),
]


@pytest.mark.parametrize(("url", "what"), ON_EACH, indirect=["url"])
def test_whatever_is_changed_past_flex_is_told_as_it_is_and_as_it_was(url: str, what: str) -> None:
    done, said = CHANGED[what]
    with open_store(url) as store:
        lived_in(store)
        assert verify_record(store).number == 23
        database = Database(url)
        with unguarded(database) as connection:
            for statement in done:
                connection.execute(statement)
        database.close()
        with pytest.raises(StoreError) as found:
            verify_record(store)
    assert (found.value.exit_code, found.value.answer) == (25, said)


def test_a_freeze_that_nobody_ordered_is_found(url: str) -> None:
    with open_store(url) as store:
        database = Database(url)
        with database.writing() as connection:
            connection.execute(insert(freeze).values(id=1, since=NOW, reason="", author=""))
        database.close()
        with pytest.raises(StoreError, match="the freeze is there without an entry freeze"):
            verify_record(store)


# What people do, each with a few numbers that say to what and how.
MOMENTS = (None, NOW, NOW + HOUR)
DONE: dict[str, Callable[[Store, int, int], object]] = {
    "pin": lambda store, at, how: store.put_pin(wished(at, how)),
    "unpin": lambda store, at, how: store.drop_pin(wished(at, how).site, wished(at, how).campaign),
    "order": lambda store, at, how: store.order_node(
        NodeOrder(f"n{at}", ORDERS[how], NOW, MOMENTS[at])
    ),
    "node": lambda store, at, how: store.put_node(
        Node(f"n{at}", (f"192.0.2.{how}",), 2**30, 1.0 + how)
    ),
    "no node": lambda store, at, _: store.drop_node(f"n{at}"),
    "freeze": lambda store, at, how: store.put_freeze(Freeze(NOW, MOMENTS[at], str(how))),
    "thaw": lambda store, *_: store.put_freeze(None),
    "token": lambda store, at, how: opened_with(store, f"t{how}" if at else ""),
    "revoke": lambda store, at, how: store.revoke_token(f"t{how}", NOW + at * HOUR),
    "use": lambda store, at, how: store.use_token(f"t{how}", NOW + at * HOUR),
    "propose": lambda store, *_: store.propose(
        plan(f"c{len(store.headlines())}", store.in_force()), PLACEMENT.empty()
    ),
    "say no": lambda store, at, how: decided(
        store, how, "discarded", Approval("reject", "bert", NOW, str(at))
    ),
    "say yes": lambda store, at, how: decided(
        store, how, "proposed", Approval("approve", "bert", NOW, str(at))
    ),
    "settle": lambda store, _, how: settled(store, how),
}
ORDERS: tuple[OrderState, ...] = get_args(OrderState)


def wished(at: int, how: int) -> Pin:
    return Pin(
        f"{at}.example",
        (f"n{how}",),
        campaign=("", "spring", "autumn")[how % 3],
        weight=0.1 * (at + how),
    )


def opened_with(store: Store, parent: str) -> None:
    """A session, where a token of that name opens something; else a token."""
    name = f"t{len(store.tokens())}"
    opens = {token.id for token in store.tokens() if token.revoked is None and not token.parent}
    store.put_token(
        Token(
            name,
            name,
            "viewer",
            digest_of(name),
            "anna",
            NOW,
            parent=parent if parent in opens else "",
        )
    )


def decided(store: Store, number: int, state: PlanState, said: Approval) -> None:
    if store.headline(f"c{number}"):
        made = store.plan(f"c{number}")
        store.update(replace(made, state=state, approvals=(*made.approvals, said)))


def settled(store: Store, number: int) -> None:
    if store.headline(f"c{number}"):
        done = replace(store.plan(f"c{number}"), state="applied", settled=NOW, message="done")
        store.settle(done, PLACEMENT.empty())


def older(entry: Entry) -> Entry:
    """As it was written before wishes for one site were told apart, and before what a token is
    known by was told.
    """
    before, after = json.loads(entry.before), json.loads(entry.after)
    for parts in (before, after):
        if isinstance(parts, dict) and entry.action == "pin.put" and before is not None:
            parts.pop("campaign")
        elif isinstance(parts, dict) and "known_by" in parts:
            del parts["known_by"]
            parts |= {"digest": "", "last_used": None}
    return replace(entry, before=as_text(before), after=as_text(after))


@given(st.lists(st.tuples(st.sampled_from(sorted(DONE)), st.integers(0, 2), st.integers(0, 3))))
def test_what_flex_itself_changes_is_as_its_entries_say_also_those_of_earlier_versions(
    done: list[tuple[str, int, int]],
) -> None:
    store = MemoryStore()
    for what, at, how in done:
        DONE[what](store, at, how)
    verify_record(store)
    record = Record()
    for entry in store.entries(limit=10_000):
        record.hear(older(entry))
    assert record.differences(there(store), store.audit_head().number) == []


def test_what_is_changed_while_it_is_looked_at_is_left_for_the_next_time() -> None:
    store, record = MemoryStore(), Record()
    lived_in(store)
    before, found = store.audit_head().number, list(there(store))
    store.drop_pin("a.example")
    store.put_freeze(None)
    store.put_node(Node("n9", ("192.0.2.9",), 2**30, 1.0))
    for entry in store.entries():
        record.hear(entry)
    assert record.differences(found, before) == []
    assert len(record.differences(found, store.audit_head().number)) == 3


def test_of_many_differences_the_first_are_told_and_the_rest_counted(url: str) -> None:
    with open_store(url) as store:
        database = Database(url)
        with database.writing() as connection:
            for number in range(30):
                connection.execute(FOREIGN_PIN.values(site=f"{number:02}.example"))
        database.close()
        with pytest.raises(StoreError) as found:
            verify_record(store)
    lines = found.value.answer.splitlines()
    assert (len(lines), lines[19], lines[20]) == (
        21, "  the pin of 19.example is there without an entry pin.put", "  and 10 more",
    )  # fmt: skip

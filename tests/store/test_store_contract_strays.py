"""What doors count is added up, over restarts of the doors and however often they are read."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flex.model.stray_requests import (
    KEPT,
    MOST_KEPT,
    MOST_READ,
    Counted,
    DoorRead,
    Stray,
    StrayReading,
    strays_after_reading,
)
from flex.store import Store

NOW = datetime(2026, 3, 1, tzinfo=UTC)
MINUTE = timedelta(minutes=1)
HOUR = 3600
LARGEST = 2**62


def reading(
    uptime: int, *counted: tuple[str, int, float], names: int | None = None
) -> StrayReading:
    every = tuple(Counted(*one) for one in counted)
    total = sum(one.requests for one in every)
    return StrayReading(uptime, len(every) if names is None else names, total, every)


def test_the_first_reading_counts_since_the_door_was_started(store: Store) -> None:
    assert (store.strays(), store.doors_read()) == ((), ())
    store.note_strays("n1", reading(HOUR - 1, ("b.example", 3, 60)), NOW)
    started, last = NOW - timedelta(hours=1), NOW - MINUTE
    assert store.strays() == (Stray("n1", "b.example", 3, started, last, 3, NOW),)
    assert store.doors_read() == (DoorRead("n1", NOW, 1, 3, 1),)
    assert store.last_number() == 0


def test_what_came_since_is_added(store: Store) -> None:
    store.note_strays("n1", reading(HOUR, ("b.example", 3, 60)), NOW)
    later = NOW + 10 * MINUTE
    store.note_strays("n1", reading(HOUR + 600, ("b.example", 5, 0), ("c.example", 2, 1)), later)
    known, new = store.strays()
    assert (known.requests, known.last) == (5, later)
    # The reading before told of all names, and had none of this one.
    assert (new.name, new.requests, new.first) == ("c.example", 2, NOW)


def test_a_door_that_was_started_again_counts_on(store: Store) -> None:
    store.note_strays("n1", reading(HOUR, ("b.example", 3, 60)), NOW)
    first = store.strays()[0].first
    store.note_strays("n1", reading(30, ("b.example", 7, 1)), NOW + MINUTE)
    assert [(one.requests, one.first) for one in store.strays()] == [(10, first)]
    store.note_strays("n1", reading(90, ("b.example", 8, 1)), NOW + 2 * MINUTE)
    assert [one.requests for one in store.strays()] == [11]


def test_a_name_that_the_door_had_no_room_for_meanwhile_counts_on(store: Store) -> None:
    store.note_strays("n1", reading(HOUR, ("b.example", 1, 0)), NOW)
    store.note_strays("n1", reading(HOUR + 60, ("b.example", 1, 60)), NOW + MINUTE)
    assert [one.requests for one in store.strays()] == [1]
    store.note_strays("n1", reading(HOUR + 120, ("b.example", 1, 5)), NOW + 2 * MINUTE)
    assert [one.requests for one in store.strays()] == [2]


def test_a_name_that_came_back_with_fewer_requests_counts_on(store: Store) -> None:
    store.note_strays("n1", reading(HOUR, ("b.example", 5, 0)), NOW)
    store.note_strays("n1", reading(HOUR + 60, ("b.example", 2, 1)), NOW + MINUTE)
    assert [one.requests for one in store.strays()] == [7]


def test_a_name_that_was_left_out_of_a_reading_is_not_counted_twice(store: Store) -> None:
    store.note_strays("n1", reading(HOUR, ("b.example", 3, 60)), NOW)
    store.note_strays("n1", reading(30, ("c.example", 9, 1), names=2), NOW + MINUTE)
    at = NOW + 2 * MINUTE
    store.note_strays("n1", reading(90, ("b.example", 4, 1), ("d.example", 2, 1), names=9), at)
    found = {one.name: one for one in store.strays()}
    assert found["b.example"].requests == 7
    # Nobody knows whether it was among the names that were left out.
    assert found["d.example"].first == at - timedelta(seconds=91)


def test_a_reading_that_is_no_later_changes_nothing(store: Store) -> None:
    store.note_strays("n1", reading(HOUR, ("b.example", 3, 60)), NOW)
    before = store.strays(), store.doors_read()
    for at in (NOW, NOW - MINUTE):
        store.note_strays("n1", reading(HOUR, ("b.example", 90, 0)), at)
    assert (store.strays(), store.doors_read()) == before


def test_strays_are_found_by_name_at_all_nodes(store: Store) -> None:
    for node in ("n2", "n1"):
        store.note_strays(node, reading(HOUR, ("a.example", 2, 0), ("b.example", LARGEST, 0)), NOW)
    found = store.strays(["b.example", "none.example"])
    assert [(one.node, one.requests) for one in found] == [("n1", LARGEST), ("n2", LARGEST)]
    many = [f"x{number}.example" for number in range(1_200)]
    assert store.strays([*many, "b.example"]) == found
    assert store.strays([]) == ()
    assert [door.node for door in store.doors_read()] == ["n1", "n2"]


@pytest.mark.slow("sqlite", "postgresql")
def test_however_many_names_come_no_more_than_so_many_are_kept(store: Store) -> None:
    for turn in range(4):
        counted = [(f"s{turn}-{one}.example", 1 + one, 0.0) for one in range(MOST_READ)]
        store.note_strays("n1", reading(HOUR, *counted), NOW + turn * MINUTE)
    kept = store.strays()
    assert len(kept) == MOST_KEPT
    assert {one.name[:2] for one in kept} == {"s2", "s3"}


def test_what_nobody_asks_for_any_more_is_forgotten(store: Store) -> None:
    store.note_strays("n1", reading(HOUR, ("b.example", 3, 60)), NOW)
    store.note_strays("n1", reading(HOUR), NOW + KEPT - 2 * MINUTE)
    assert len(store.strays()) == 1
    store.note_strays("n1", reading(HOUR), NOW + KEPT)
    assert store.strays() == ()


def test_the_same_reading_noted_by_many_at_once_counts_once(store: Store) -> None:
    store.note_strays("n1", reading(HOUR, ("b.example", 1, 60)), NOW)
    later, more = NOW + MINUTE, reading(HOUR + 60, ("b.example", 5, 1))
    with ThreadPoolExecutor(8) as side_by_side:
        list(side_by_side.map(lambda _: store.note_strays("n1", more, later), range(8)))
    assert [one.requests for one in store.strays()] == [5]


@given(st.lists(st.tuples(st.integers(0, 20), st.booleans()), min_size=1, max_size=30))
def test_every_request_counts_once_whenever_the_door_is_read_and_restarted(
    steps: list[tuple[int, bool]],
) -> None:
    """As long as the door is read before each restart."""
    kept: tuple[Stray, ...] = ()
    door = None
    here = total = 0
    started, last = NOW, NOW
    for turn, (requests, restarts) in enumerate(steps, start=1):
        now = NOW + turn * MINUTE
        if restarts:
            started, here = now - MINUTE / 2, 0
        here, total = here + requests, total + requests
        last = now if requests else last
        told = [("b.example", here, (now - last).total_seconds())] if here else []
        uptime = int((now - started).total_seconds())
        door, kept = strays_after_reading(kept, door, "n1", reading(uptime, *told), now)
        assert sum(one.requests for one in kept) == total
        assert all(one.first <= one.last <= now for one in kept)

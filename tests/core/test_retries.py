"""What fails is tried again soon at first, then ever later, and never later than a bound."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from flex.model.retry_schedule import (
    FIRST,
    MOST,
    Attempt,
    attempt_after_failure,
    is_due,
    is_told,
    pause,
)

NOW = datetime(2026, 3, 3, 2, 17, tzinfo=UTC)
SECOND = timedelta(seconds=1)


def after(count: int) -> Attempt:
    found = attempt_after_failure(None, "n1", NOW, "away")
    for number in range(1, count):
        found = attempt_after_failure(found, "n1", NOW + number * SECOND, "away")
    return found


def test_the_first_pause_is_short_and_each_is_longer_up_to_the_bound() -> None:
    pauses = [pause(count) for count in range(1, 50)]
    assert pauses[:3] == [FIRST, 2 * FIRST, 4 * FIRST]
    assert pauses == sorted(pauses)
    assert pauses[-1] == MOST


@given(st.integers(1, 10**9))
def test_it_is_due_once_its_pause_is_over_however_often_it_failed(count: int) -> None:
    tried = Attempt("n1", count, NOW, NOW, "away")
    assert not is_due(tried, NOW)
    assert not is_due(tried, tried.again - SECOND)
    assert is_due(tried, tried.again)
    assert is_due(tried, NOW + MOST)


def test_what_was_never_tried_and_what_was_tried_in_the_future_is_due() -> None:
    assert is_due(None, NOW)
    assert is_due(after(3), NOW - timedelta(hours=1))


def test_attempts_are_counted_from_the_first() -> None:
    assert after(3) == Attempt("n1", 3, NOW, NOW + 2 * SECOND, "away")


def test_people_are_told_ever_less_often() -> None:
    told = [count for count in range(1, 70) if is_told(Attempt("n1", count, NOW, NOW, ""))]
    assert told == [1, 2, 4, 8, 16, 32, 64]

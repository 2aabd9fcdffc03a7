"""How busy hours are, on the mean of the days that logs are of, however few."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from flex.model.log_reading import Segment, Stream
from flex.model.period import Period
from flex.store import MemoryStore
from flex_api.facts.traffic_by_hour import HoursInLogs, hours_in_logs

# A Wednesday.
FIRST = datetime(2026, 9, 30, tzinfo=UTC)
DAYS = 21
PERIOD = Period(FIRST, FIRST + timedelta(days=DAYS))
BEGIN = PERIOD.first_day * 24


def of(answers: Iterable[tuple[str, int, int]]) -> HoursInLogs:
    store = MemoryStore()
    for number, (node, hour, count) in enumerate(answers):
        day = hour // 24
        read = Segment(
            f"{number}", node, node, "log", "combined", number, number + 1, day, day,
            hour * 3600, hour * 3600, (), hours=((hour, count),), read_at=number,
        )  # fmt: skip
        stream = Stream(node, f"{number}", 1, number + 1, "t", "log")
        store.record(read, stream, None)
    return hours_in_logs(store, PERIOD)


def test_two_days_of_logs_are_two_days_whatever_was_asked_for() -> None:
    """Each of them has 1,213 and 1,363 answers in its busiest hour."""
    day = BEGIN + 24 * 14
    found = of([("n1", day + 19, 1213), ("n1", day + 43, 1363), ("n1", day, 10)])
    assert found.means_by_hour_of_day()["n1"][19] == pytest.approx(1288)
    week = found.means_by_hour_of_week()["n1"]
    assert [week[2 * 24 + 19], week[3 * 24 + 19]] == [1213, 1363]


def test_the_day_that_is_not_over_counts_in_the_hours_that_it_had() -> None:
    found = of(
        [("n1", BEGIN + 5, 6), ("n1", BEGIN + 20, 8), ("n1", BEGIN + 25, 4), ("n2", BEGIN + 29, 4)]
    )
    assert found.means_by_hour_of_day()["n1"][20] == 8
    assert found.means_by_hour_of_day()["n1"][5] == 3


def test_a_node_counts_by_its_own_days() -> None:
    found = of(
        [("n1", BEGIN + 24 * day, 100) for day in range(14)] + [("n2", BEGIN + 24 * 13, 100)]
    )
    assert [found.means_by_hour_of_day()[node][0] for node in ("n1", "n2")] == [100, 100]


def test_without_logs_there_is_nothing() -> None:
    assert of([]).means_by_hour_of_day() == {}
    assert of([("n1", BEGIN - 1, 5)]).means_by_hour_of_week() == {}


ANSWERS = st.lists(
    st.tuples(
        st.sampled_from(["n1", "n2"]),
        st.integers(BEGIN, BEGIN + DAYS * 24 - 1),
        st.integers(1, 1000),
    ),
    min_size=1,
    max_size=30,
)


@given(ANSWERS)
def test_an_hours_mean_is_of_the_days_with_logs(answers: list[tuple[str, int, int]]) -> None:
    found = of(answers)
    hours = [hour for _, hour, _ in answers]
    for node in {node for node, _, _ in answers}:
        days = {hour // 24 for one, hour, _ in answers if one == node}
        covered = [hour for hour in range(min(hours), max(hours) + 1) if hour // 24 in days]
        for mean, turn, first in (
            (found.means_by_hour_of_day()[node], 24, 0),
            (found.means_by_hour_of_week()[node], 168, 72),
        ):
            wanted = np.zeros(turn)
            for at in range(turn):
                told = [hour for hour in covered if (hour + first) % turn == at]
                asked = sum(
                    count
                    for one, hour, count in answers
                    if one == node and (hour + first) % turn == at
                )
                wanted[at] = asked / len(told) if told else 0.0
            assert list(mean) == pytest.approx(wanted.tolist())

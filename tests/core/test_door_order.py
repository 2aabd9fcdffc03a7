"""The number of orders grows, whatever nodes say that they go by."""

from __future__ import annotations

from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st

from flex.model.orders_to_doors import (
    MOST_BEHIND,
    MOST_ORDERS,
    DoorOrder,
    DoorReport,
    is_behind,
    next_number,
)

NOW = datetime(2026, 3, 1, tzinfo=UTC)
NUMBERS = st.integers(0, 20)
# Also what nobody can have given.
SAID = NUMBERS | st.integers(MOST_BEHIND - 20, MOST_BEHIND + 40) | st.just(MOST_ORDERS)
REPORTS = st.lists(
    st.builds(DoorReport, st.text(max_size=3), SAID, st.sampled_from("ab"), st.just(NOW))
)
ORDERS = st.none() | st.builds(
    DoorOrder, NUMBERS, st.just("p"), st.just("l"), st.sampled_from("ab"), st.just(NOW)
)


@given(ORDERS, REPORTS)
def test_the_next_number_is_above_the_last_one_and_all_that_nodes_can_go_by(
    last: DoorOrder | None, reports: list[DoorReport]
) -> None:
    before = last.number if last else 0
    possible = [one.number for one in reports if one.number <= before + MOST_BEHIND]
    assert next_number(last, reports) == max([before, *possible]) + 1


def test_no_report_makes_a_number_that_nodes_could_not_say() -> None:
    last = DoorOrder(MOST_ORDERS - 1, "p", "l", "m", NOW)
    assert next_number(last, [DoorReport("n1", MOST_ORDERS, "m", NOW)]) == MOST_ORDERS


@given(ORDERS.filter(bool), REPORTS)
def test_behind_its_nodes_is_a_database_that_was_put_back(
    last: DoorOrder, reports: list[DoorReport]
) -> None:
    others = [
        one
        for one in reports
        if last.number <= one.number <= last.number + MOST_BEHIND and not one.goes_by(last)
    ]
    assert is_behind(last, reports) == bool(others)

"""The number of orders grows, whatever nodes say that they go by."""

from __future__ import annotations

from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st

from flex.model.door_order import DoorOrder, DoorReport, is_behind, next_number

NOW = datetime(2026, 3, 1, tzinfo=UTC)
NUMBERS = st.integers(0, 20)
REPORTS = st.lists(
    st.builds(
        DoorReport, st.text(max_size=3), NUMBERS, st.sampled_from("ab"), st.just(NOW)
    )
)
ORDERS = st.none() | st.builds(
    DoorOrder, NUMBERS, st.just("p"), st.just("l"), st.sampled_from("ab"), st.just(NOW)
)


@given(ORDERS, REPORTS)
def test_the_next_number_is_above_the_last_one_and_all_that_nodes_go_by(
    last: DoorOrder | None, reports: list[DoorReport]
) -> None:
    found = next_number(last, reports)
    highest = max([last.number if last else 0, *(one.number for one in reports)])
    assert found == highest + 1


@given(ORDERS.filter(bool), REPORTS)
def test_behind_its_nodes_is_a_database_that_was_put_back(
    last: DoorOrder, reports: list[DoorReport]
) -> None:
    older = [one for one in reports if one.number < last.number or one.goes_by(last)]
    assert is_behind(last, reports) == (len(older) < len(reports))

"""A table is in the order of its key, each key once: however it comes, and wherever in it what is
wrong stands.
"""

from __future__ import annotations

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from flex import frame_schemas
from flex.errors import BadTable
from flex.frame_schemas import PLACEMENT, SAMPLE, SPREADS

NAMES = st.text(alphabet="aåz.0-ß\U0001f984", min_size=1, max_size=4)
# More rows than are looked at together, in the laws below.
TOGETHER = 3


@pytest.fixture(autouse=True)
def _looked_at_a_few_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(frame_schemas, "LOOKED_AT", TOGETHER)


@given(rows=st.lists(st.tuples(NAMES, NAMES), unique=True, max_size=12), as_they_are=st.booleans())
def test_rows_are_in_the_order_of_their_key(
    rows: list[tuple[str, str]], *, as_they_are: bool
) -> None:
    frame = pd.DataFrame(
        rows if as_they_are else sorted(rows), columns=["site", "node"], dtype="str"
    )
    made = PLACEMENT.make(frame)
    assert list(made.itertuples(index=False, name=None)) == sorted(rows)
    assert made.index.equals(pd.RangeIndex(len(rows)))


@given(rows=st.lists(st.tuples(NAMES, NAMES), unique=True, min_size=1, max_size=12), data=st.data())
def test_a_key_that_is_there_twice_is_refused_wherever_it_stands(
    rows: list[tuple[str, str]], data: st.DataObject
) -> None:
    again = data.draw(st.sampled_from(rows))
    for order in (sorted([*rows, again]), [*rows, again]):
        with pytest.raises(BadTable, match="is there twice"):
            PLACEMENT.make(pd.DataFrame(order, columns=["site", "node"], dtype="str"))


@pytest.mark.parametrize("other", ["str", "object"])
def test_a_key_with_a_gap_is_refused(other: str) -> None:
    gap = pd.Series(["a", None, "b"], dtype="str")
    node = pd.Series(["n1"] * 3, dtype=other)
    with pytest.raises(BadTable, match="site has missing values"):
        PLACEMENT.make(pd.DataFrame({"site": gap, "node": node}))


def test_rows_keep_what_belongs_to_their_key() -> None:
    rows = [("b", 2, 20), ("a", 3, 13), ("b", 1, 10), ("a", 2, 12)]
    made = SPREADS.make(pd.DataFrame(rows, columns=list(SPREADS.columns)))
    assert list(made.itertuples(index=False, name=None)) == sorted(rows)


def test_rows_without_a_key_stay_as_they_came() -> None:
    rows = [(5, 1, 0), (3, 2, 0), (3, 2, 0)]
    made = SAMPLE.make(pd.DataFrame(rows, columns=list(SAMPLE.columns), index=[7, 8, 9]))
    assert list(made.itertuples(index=False, name=None)) == rows
    assert made.index.equals(pd.RangeIndex(len(rows)))


@pytest.mark.parametrize(
    "rows", [[("a", 2, -1)], [("a", 1, 5), ("a", 2, -1)], [("b", 1, 5), ("a", 2, -1)]]
)
def test_a_negative_number_is_refused_in_any_order(rows: list[tuple[str, int, int]]) -> None:
    with pytest.raises(BadTable, match="working_set has the negative value -1"):
        SPREADS.make(pd.DataFrame(rows, columns=list(SPREADS.columns)))

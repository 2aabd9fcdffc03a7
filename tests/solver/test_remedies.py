"""The cheapest remedies: none is cheaper of all sets of so many changes, and all of them put the
node right.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from flex import native_or_python
from flex.placing.problem import Floats
from flex_solver.programs import cheapest_changes
from flex_solver.programs.cheapest_changes import (
    Changes,
    cheapest_sets,
    reference_sets,
    remedies,
)

native = pytest.mark.skipif(native_or_python.NATIVE is None, reason=native_or_python.WHY_NOT)

LOADS = st.integers(-40, 40).map(lambda hundredth: hundredth / 100)
PRICES = st.integers(-10, 30).map(lambda tenth: tenth / 10)


@st.composite
def asked(draw: st.DrawFn) -> tuple[Floats, Floats, Changes]:
    """What a node may change by, each resource by a tenth between two limits, and some changes."""
    count, dimensions = draw(st.integers(0, 7)), draw(st.integers(1, 3))
    load = draw(
        st.lists(
            st.lists(LOADS, min_size=dimensions, max_size=dimensions),
            min_size=count,
            max_size=count,
        )
    )
    price = draw(st.lists(PRICES, min_size=count, max_size=count))
    low = np.array(draw(st.lists(LOADS, min_size=dimensions, max_size=dimensions)))
    return (low, low + 0.1, Changes(np.array(load).reshape(count, dimensions), np.array(price)))


@given(asked(), st.integers(1, 4), st.sampled_from([0.5, 1.0, 4.0]), st.integers(1, 3))
def test_no_set_of_so_many_changes_is_cheaper(
    wanted: tuple[Floats, Floats, Changes], size: int, below: float, keep: int
) -> None:
    low, high, changes = wanted
    found = remedies(low, high, changes, below, size=size, keep=keep)
    cheapest = min((one.price for one in found.found), default=below)
    assert found.thorough == size
    for members in range(1, size + 1):
        for chosen in combinations(range(len(changes.price)), members):
            load, price = (
                changes.load[list(chosen)].sum(axis=0),
                float(changes.price[list(chosen)].sum()),
            )
            if np.all((load >= low) & (load <= high)):
                assert price >= cheapest - 1e-9


@given(asked(), st.integers(1, 4))
def test_every_remedy_puts_the_node_right_for_what_it_says(
    wanted: tuple[Floats, Floats, Changes], size: int
) -> None:
    low, high, changes = wanted
    for one in remedies(low, high, changes, 4.0, size=size, keep=3).found:
        assert len(set(one.changes)) == len(one.changes) <= size
        load = changes.load[list(one.changes)].sum(axis=0)
        assert np.all((load >= low - 1e-8) & (load <= high + 1e-8))
        assert (
            abs(changes.price[list(one.changes)].sum() - one.price) < 1e-9 < 4.0 - one.price + 1e-9
        )


def test_where_beginnings_are_too_many_it_says_how_far_it_looked() -> None:
    many = Changes(np.full((4_000, 1), 0.001), np.full(4_000, 0.1))
    found = remedies(np.array([0.0025]), np.array([0.0035]), many, 1.0, size=3, keep=1)
    assert (found.found, found.thorough) == ([], 2)


@native
def test_where_too_many_would_be_tried_one_by_one_it_says_how_far_it_looked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # Nothing brings what is wanted of the third resource.
    load = np.array([0.001, 0.001, 0.0]) * np.ones((900, 1))
    low = np.array([0.0025, 0.0025, 1.0])
    bands = (low, low + 0.001)
    assert cheapest_sets(*bands, load, np.full(900, 0.1), 1.0, 3, 1) == ([], 2)
    monkeypatch.setattr(cheapest_changes, "CHECKS", 10_000)
    assert reference_sets(*bands, load[:40], np.full(40, 0.1), 1.0, 3, 1) == ([], 2)


@native
@given(asked(), st.integers(0, 4), st.sampled_from([0.0, 0.5, 4.0]), st.integers(1, 3))
def test_the_native_loop_answers_as_the_reference_does(
    wanted: tuple[Floats, Floats, Changes], size: int, below: float, keep: int
) -> None:
    low, high, changes = wanted
    asked = (low, high, changes.load, changes.price, below, size, keep)
    assert cheapest_sets(*asked) == reference_sets(*asked)


@native
@pytest.mark.parametrize(
    ("count", "dimensions", "size"), [(4_000, 1, 3), (300, 2, 3), (300, 3, 3), (60, 2, 4)]
)
def test_so_it_does_for_many_changes(count: int, dimensions: int, size: int) -> None:
    random = np.random.default_rng(count)
    load, price = (random.normal(0, 0.3, (count, dimensions)), random.normal(0.3, 0.2, count))
    low = random.normal(0, 0.2, dimensions)
    asked = (low, low + 0.05, np.asfortranarray(load), price, 0.6, size, 16)
    assert cheapest_sets(*asked) == reference_sets(*asked)


@native
def test_the_native_loop_refuses_arrays_that_do_not_fit() -> None:
    with pytest.raises(ValueError, match="do not fit"):
        cheapest_sets(np.zeros(2), np.ones(2), np.zeros((3, 1)), np.zeros(3), 1.0, 2, 1)

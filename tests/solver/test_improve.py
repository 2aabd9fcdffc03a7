"""The hot loop: what every engine promises, and that all of them do the same."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flex import engine
from flex_solver.improve import CHANCES, MOVE, SHARE, UNIT, Ints, Items, improve, reference_improve

Improve = Callable[[Items, Ints, Ints, Ints, int, int], Ints]
Start = tuple[Items, Ints]

HEAT = np.array([MOVE // 2, MOVE // 8, MOVE // 64])
CHANCE = np.rint(-np.log((np.arange(CHANCES) + 0.5) / CHANCES) * UNIT).astype(np.int64)

native = pytest.param(
    improve,
    id="native",
    marks=pytest.mark.skipif(improve is reference_improve, reason=engine.WHY_NOT or "it does not improve placements"),
)
every_engine = pytest.mark.parametrize("run", [pytest.param(reference_improve, id="python"), native])


@st.composite
def starts(draw: st.DrawFn) -> Start:
    """Items of up to ten sites, some with two replicas, on up to five nodes."""
    nodes, sites = draw(st.integers(1, 5)), draw(st.integers(0, 10))
    placed = [draw(st.lists(st.integers(0, nodes - 1), unique=True, min_size=1, max_size=2)) for _ in range(sites)]
    held = [draw(st.lists(st.integers(0, nodes - 1), unique=True, max_size=2)) for _ in range(sites)]
    load = [draw(st.tuples(st.integers(0, SHARE), st.integers(0, SHARE // 4))) for _ in range(sites)]
    items = sum(map(len, placed))
    middle, width = SHARE // 2, draw(st.integers(0, SHARE // 4))
    movable = draw(st.permutations(range(items)))[: draw(st.integers(0, items))]
    return Items(
        site=_whole([site for site, on in enumerate(placed) for _ in on]),
        load=_whole(load).reshape(-1, 2),
        low=np.full((nodes, 2), middle - width),
        high=np.full((nodes, 2), middle + width),
        first_item=_whole(np.cumsum([0, *map(len, placed)]).tolist()),
        first_held=_whole(np.cumsum([0, *map(len, held)]).tolist()),
        held=_whole([node for on in held for node in on]),
        price=_whole([draw(st.integers(0, 2**20)) for _ in range(sites)]),
        movable=_whole(movable),
    ), _whole([node for on in placed for node in on])


def _whole(numbers: object) -> Ints:
    return np.array(numbers, dtype=np.int64)


def merit(items: Items, node: Ints) -> tuple[int, int]:
    """Load outside the band, and what the new rows cost."""
    total = np.zeros_like(items.low)
    np.add.at(total, node, items.load[items.site])
    off = np.maximum(np.maximum(total - items.high, items.low - total), 0).sum()
    cost = 0
    for item in items.movable.tolist():
        site = int(items.site[item])
        if node[item] not in items.held[items.first_held[site] : items.first_held[site + 1]]:
            cost += MOVE + int(items.price[site])
    return int(off), cost


@every_engine
@settings(max_examples=60)
@given(start=starts(), seed=st.integers(0, 2**64 - 1))
def test_no_answer_is_worse_than_its_start(run: Improve, start: Start, seed: int) -> None:
    items, node = start
    assert merit(items, run(items, node, HEAT, CHANCE, 500, seed)) <= merit(items, node)


@every_engine
@settings(max_examples=60)
@given(start=starts(), seed=st.integers(0, 2**64 - 1))
def test_fixed_items_stay_and_replicas_stay_apart(run: Improve, start: Start, seed: int) -> None:
    items, node = start
    found = run(items, node, HEAT, CHANCE, 500, seed)
    fixed = np.setdiff1d(np.arange(len(node)), items.movable)
    assert found[fixed].tolist() == node[fixed].tolist()
    assert len(np.unique(np.stack([items.site, found]), axis=1).T) == len(node)


@pytest.mark.skipif(improve is reference_improve, reason=engine.WHY_NOT or "it does not improve placements")
@settings(max_examples=100)
@given(start=starts(), seed=st.integers(0, 2**64 - 1), steps=st.integers(0, 2_000))
def test_the_native_loop_answers_as_the_reference_does(start: Start, seed: int, steps: int) -> None:
    items, node = start
    asked = (items, node, HEAT, CHANCE, steps, seed)
    assert improve(*asked).tolist() == reference_improve(*asked).tolist()


@pytest.mark.skipif(improve is reference_improve, reason=engine.WHY_NOT or "it does not improve placements")
def test_the_native_loop_refuses_arrays_that_do_not_fit() -> None:
    nothing, bands = np.zeros(0, dtype=np.int64), np.zeros((1, 2), dtype=np.int64)
    first = np.zeros(1, dtype=np.int64)
    items = Items(nothing, bands[:0], bands, bands, first, first, nothing, nothing, movable=np.array([7]))
    with pytest.raises(ValueError, match="do not fit"):
        improve(items, nothing, HEAT, CHANCE, 1, 1)

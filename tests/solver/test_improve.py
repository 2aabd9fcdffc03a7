"""The hot loop: what every engine promises, and that all of them do the same."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flex import native_or_python
from flex_solver.search.local_search_loop import (
    CHANCES,
    MOVE,
    SHARE,
    UNIT,
    Ints,
    Items,
    Schedule,
    improve,
    reference_improve,
)
from tests.thorough import times

Improve = Callable[[Items, Ints, Schedule], Ints]
Start = tuple[Items, Ints]

HEAT = np.array([MOVE // 2, MOVE // 8, MOVE // 64])
WEIGHT = np.array([4, 16, 64])
CHANCE = np.rint(-np.log((np.arange(CHANCES) + 0.5) / CHANCES) * UNIT).astype(np.int64)

native = pytest.param(
    improve,
    id="native",
    marks=pytest.mark.skipif(
        improve is reference_improve,
        reason=native_or_python.WHY_NOT or "it does not improve placements",
    ),
)
every_engine = pytest.mark.parametrize(
    "run", [pytest.param(reference_improve, id="python"), native]
)


def for_steps(steps: int, seed: int) -> Schedule:
    return Schedule(HEAT, WEIGHT, CHANCE, steps, seed)


@st.composite
def starts(draw: st.DrawFn) -> Start:
    """Items of up to ten sites, some with two replicas, on up to five nodes; some barred, some
    rivals, some dear.
    """
    nodes, sites = draw(st.integers(1, 5)), draw(st.integers(0, 10))
    placed = [
        draw(st.lists(st.integers(0, nodes - 1), unique=True, min_size=1, max_size=2))
        for _ in range(sites)
    ]
    held = [
        draw(st.lists(st.integers(0, nodes - 1), unique=True, max_size=2)) for _ in range(sites)
    ]
    load = [
        draw(st.tuples(st.integers(0, SHARE), st.integers(0, SHARE // 4))) for _ in range(sites)
    ]
    barred = [draw(st.lists(st.integers(0, nodes - 1), max_size=1)) for _ in range(sites)]
    pair = draw(st.sets(st.integers(0, sites - 1), min_size=2, max_size=2)) if sites > 1 else set()
    rivals = [sorted(pair - {site}) if site in pair else [] for site in range(sites)]
    items = sum(map(len, placed))
    middle, width = SHARE // 2, draw(st.integers(0, SHARE // 4))
    movable = draw(st.permutations(range(items)))[: draw(st.integers(0, items))]
    return Items(
        site=_whole([site for site, on in enumerate(placed) for _ in on]),
        load=_whole(load).reshape(-1, 2),
        low=np.full((nodes, 2), middle - width),
        high=np.full((nodes, 2), middle + width),
        first_item=_starts(placed),
        first_home=_starts(held),
        home=_whole([node for on in held for node in on]),
        at_home=_whole([draw(st.sampled_from([0, 0, MOVE // 2])) for on in held for _ in on]),
        price=_whole(
            [MOVE * draw(st.integers(1, 3)) + draw(st.integers(0, 2**16)) for _ in range(sites)]
        ),
        first_barred=_starts(barred),
        barred=_whole([node for on in barred for node in on]),
        first_rival=_starts(rivals),
        rivals=_whole([rival for of in rivals for rival in of]),
        movable=_whole(movable),
    ), _whole([node for on in placed for node in on])


def _whole(numbers: object) -> Ints:
    return np.array(numbers, dtype=np.int64)


def _starts(parts: list[list[int]]) -> Ints:
    return _whole(np.cumsum([0, *map(len, parts)]))


def merit(items: Items, node: Ints) -> tuple[int, int]:
    """Load outside the band, and what the new rows cost."""
    total = np.zeros_like(items.low)
    np.add.at(total, node, items.load[items.site])
    off = np.maximum(np.maximum(total - items.high, items.low - total), 0).sum()
    cost = 0
    for item in items.movable.tolist():
        site = int(items.site[item])
        places = slice(items.first_home[site], items.first_home[site + 1])
        at_home = dict(
            zip(items.home[places].tolist(), items.at_home[places].tolist(), strict=True)
        )
        cost += at_home.get(int(node[item]), int(items.price[site]))
    return int(off), cost


@every_engine
@settings(max_examples=times(60))
@given(start=starts(), seed=st.integers(0, 2**64 - 1))
def test_no_answer_is_worse_than_its_start(run: Improve, start: Start, seed: int) -> None:
    items, node = start
    assert merit(items, run(items, node, for_steps(500, seed))) <= merit(items, node)


@every_engine
@settings(max_examples=times(60))
@given(start=starts(), seed=st.integers(0, 2**64 - 1))
def test_fixed_items_stay_and_replicas_stay_apart(run: Improve, start: Start, seed: int) -> None:
    items, node = start
    found = run(items, node, for_steps(500, seed))
    fixed = np.setdiff1d(np.arange(len(node)), items.movable)
    assert found[fixed].tolist() == node[fixed].tolist()
    assert len(np.unique(np.stack([items.site, found]), axis=1).T) == len(node)


@pytest.mark.slow("python")
@every_engine
@settings(max_examples=times(60))
@given(start=starts(), seed=st.integers(0, 2**64 - 1))
def test_no_item_goes_where_its_site_is_barred_or_a_rival_is(
    run: Improve, start: Start, seed: int
) -> None:
    items, node = start
    found = run(items, node, for_steps(500, seed))
    for item in np.flatnonzero(found != node).tolist():
        site, on = int(items.site[item]), int(found[item])
        assert on not in items.barred[items.first_barred[site] : items.first_barred[site + 1]]
        rivals = items.rivals[items.first_rival[site] : items.first_rival[site + 1]]
        assert not np.any(np.isin(items.site, rivals) & (found == on))


@pytest.mark.slow
@pytest.mark.skipif(
    improve is reference_improve,
    reason=native_or_python.WHY_NOT or "it does not improve placements",
)
@settings(max_examples=times(100))
@given(start=starts(), seed=st.integers(0, 2**64 - 1), steps=st.integers(0, 2_000))
def test_the_native_loop_answers_as_the_reference_does(start: Start, seed: int, steps: int) -> None:
    items, node = start
    asked = (items, node, for_steps(steps, seed))
    assert improve(*asked).tolist() == reference_improve(*asked).tolist()


@every_engine
def test_how_arrays_lie_in_memory_makes_no_difference(run: Improve) -> None:
    """Twelve sites on one of three nodes, whose loads would be others if columns were read for
    rows.
    """
    sites, each = np.arange(12), _starts([[0]] * 12)
    nothing, none = _whole([]), _whole([0] * 13)
    load = np.stack([SHARE // 40 * (sites + 1), SHARE // 40 * (12 - sites) // 3], axis=1)
    low, high = _whole([[SHARE // 2, 0]] * 3), _whole([[SHARE, SHARE // 2]] * 3)
    price = np.full(12, MOVE)
    homes = (each, np.zeros_like(sites), np.zeros_like(sites))
    by_rows = Items(
        sites, load, low, high, each, *homes, price, none, nothing, none, nothing, sites
    )
    by_columns = replace(
        by_rows,
        **{name: np.asfortranarray(getattr(by_rows, name)) for name in ("load", "low", "high")},
    )
    asked = (np.zeros_like(sites), for_steps(500, 1))
    assert run(by_columns, *asked).tolist() == run(by_rows, *asked).tolist()


@pytest.mark.skipif(
    improve is reference_improve,
    reason=native_or_python.WHY_NOT or "it does not improve placements",
)
def test_the_native_loop_refuses_arrays_that_do_not_fit() -> None:
    nothing, bands = np.zeros(0, dtype=np.int64), np.zeros((1, 2), dtype=np.int64)
    first = np.zeros(1, dtype=np.int64)
    parts = (first, nothing)
    items = Items(
        nothing,
        bands[:0],
        bands,
        bands,
        first,
        *parts,
        nothing,
        nothing,
        *parts,
        *parts,
        np.array([7]),
    )
    with pytest.raises(ValueError, match="do not fit"):
        improve(items, nothing, for_steps(1, 1))

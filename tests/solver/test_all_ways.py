"""All ways to put few nodes right: none has fewer moves, or fewer cold bytes, than what is said; on
every engine.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from hashlib import sha256
from typing import TypeAlias

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench.solver import family
from flex import native_or_python
from flex.placing import score
from flex.placing.problem import Budget, Ints, Problem
from flex_solver.bounds.priced import price_bound
from flex_solver.exact import fewest_moves
from flex_solver.search import all_move_sets
from flex_solver.search.all_move_sets_loop import (
    MOVE,
    NOW,
    MoveSetLimits,
    Puzzle,
    reference_sift,
    sift,
)
from tests.solver.given import placements, wished
from tests.thorough import times
from tests.unhurried import unhurried

Sift: TypeAlias = "Callable[[Puzzle, MoveSetLimits], tuple[Ints | None, bool]]"

native = pytest.mark.skipif(
    sift is reference_sift, reason=native_or_python.WHY_NOT or "it does not sift"
)

WITHOUT_NATIVE = """
import sys
sys.modules["flex_native"] = None
from flex import native_or_python
from tests.unhurried import unhurried
from tests.solver.test_all_ways import digest
print(native_or_python.name(), digest())
"""


@pytest.mark.slow
@settings(max_examples=times(120), deadline=None)
@given(data=st.data())
def test_none_has_fewer_moves_and_of_those_none_fewer_cold_bytes(
    data: st.DataObject, tiny: st.SearchStrategy[Problem]
) -> None:
    problem = replace(
        data.draw(wished(tiny)), tolerance=data.draw(st.sampled_from([0.1, 0.3, 0.5, 0.9]))
    )
    balanced = [rows for rows in placements(problem) if not score.violations(problem, rows)]
    if not balanced or not all_move_sets.is_small(problem):
        return
    known, asked = data.draw(st.sampled_from(balanced)), price_bound(problem)
    fewest = all_move_sets.fewest(problem, known, asked, _ever)
    if fewest is None:
        return
    assert score.violations(problem, fewest) == ()
    assert score.moves(problem, fewest) == min(score.moves(problem, rows) for rows in balanced)
    coldest, every = all_move_sets.coldest(problem, fewest, asked, _ever)
    assert score.violations(problem, coldest) == ()
    assert _merit(problem, coldest) <= _merit(problem, fewest)
    if every:
        assert _merit(problem, coldest) == min(_merit(problem, rows) for rows in balanced)


def _ever() -> float:
    return 600.0


def _merit(problem: Problem, rows: Ints) -> tuple[int, int]:
    return score.moves(problem, rows), score.cold_bytes(problem, rows)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_without_wishes_it_is_always_said(seed: int) -> None:
    problem = family.cluster(40, 3, seed=seed)
    known, asked = fewest_moves.place(problem, unhurried()).rows, price_bound(problem)
    assert all_move_sets.fewest(problem, known, asked, _ever) is known
    coldest, every = all_move_sets.coldest(problem, known, asked, _ever)
    assert every
    assert _merit(problem, coldest) == _merit(problem, known)


@pytest.mark.slow
@native
def test_what_took_too_many_cases_is_settled() -> None:
    found = fewest_moves.place(family.cluster(100, 4, seed=3), Budget(seconds=60))
    assert (found.proven, found.note) == (True, "")


@pytest.mark.parametrize(
    "run",
    [pytest.param(sift, id="native", marks=native), pytest.param(reference_sift, id="python")],
)
def test_no_time_settles_nothing(run: Sift) -> None:
    puzzle = replace(_puzzle(1), off=np.zeros_like(_puzzle(1).off))
    wanted = MoveSetLimits(
        (50 * MOVE,) * 2, 1_000, any=False, steps=NOW - 1, seconds=0.0, reads=(0, 0)
    )
    found, every = run(puzzle, wanted)
    assert (found is not None, every) == (True, True)
    assert run(puzzle, replace(wanted, steps=NOW)) == (None, False)


@native
@settings(max_examples=times(40), deadline=None)
@given(
    seed=st.integers(0, 10**6),
    moves=st.integers(0, 5),
    second=st.integers(0, 5 * MOVE),
    cold=st.integers(0, 40),
    some=st.booleans(),
    steps=st.sampled_from([0, 1, 20, 1_000]),
)
def test_both_engines_find_the_same(
    seed: int, moves: int, second: int, cold: int, some: bool, steps: int
) -> None:
    puzzle, wanted = (
        _puzzle(seed),
        MoveSetLimits((moves * MOVE, second), cold, some, steps, 600.0, reads=(0, second // 2)),
    )
    (one, its_all), (other, all_of_other) = (sift(puzzle, wanted), reference_sift(puzzle, wanted))
    assert its_all == all_of_other
    assert (one is None) == (other is None)
    assert one is None or other is None or one.tolist() == other.tolist()


def _puzzle(seed: int) -> Puzzle:
    """Some rows of sites on nodes, and one place beside them that has a row to give, or to take."""
    random = np.random.default_rng(seed)
    nodes, sites, dimensions = (
        int(random.integers(1, 5)),
        int(random.integers(1, 9)),
        int(random.integers(2, 4)),
    )
    asks = random.choice([0.0, 0.01, 0.02, 0.05, 0.1, 0.3], (sites, dimensions)) * random.uniform(
        0.9, 1.1, (sites, 1)
    )
    at, (gives, others) = (
        random.integers(0, nodes + 1, sites),
        random.integers(0, MOVE + 1, (2, sites)),
    )
    load = np.zeros((nodes + 1, dimensions))
    np.add.at(load, at, asks)
    middle, reach = (random.uniform(0.9, 1.1) * asks.sum(axis=0) / nodes, random.uniform(0.02, 0.4))
    row, target = np.nonzero(random.random((sites, nodes + 1)) < 0.8)
    row, target = row[at[row] != target], target[at[row] != target]
    changes = [_changes(row, target, at, n) for n in range(nodes)]
    site, sign = (np.concatenate(parts) for parts in zip(*changes, strict=True))
    return Puzzle(
        load=load,
        low=np.vstack([np.repeat([middle - reach], nodes, axis=0), [np.zeros(dimensions)]]),
        high=np.vstack([np.repeat([middle + reach], nodes, axis=0), [np.full(dimensions, 1e-9)]]),
        off=np.array([[*[0] * nodes, int(random.integers(-MOVE, MOVE))] for _ in range(2)]),
        first_change=np.cumsum([0, *(len(of_node) for of_node, _ in changes)]),
        change=asks[site] * sign[:, None],
        change_price=np.array(
            [np.where(sign < 0, gives[site], takes[site]) for takes in (MOVE - gives, others)]
        ),
        row=row,
        site=row // 2,
        source=at[row],
        target=target,
        asks=asks[row],
        price=np.array(
            [
                np.where(target < nodes, gives[row] + takes[row], 0)
                for takes in (MOVE - gives, others)
            ]
        ),
        cold=random.integers(0, 20, len(row)),
    )


def _changes(row: Ints, target: Ints, at: Ints, node: int) -> tuple[Ints, Ints]:
    leave, come = np.unique(row[at[row] == node]), np.unique(row[target == node])
    return np.concatenate([leave, come]), np.repeat([-1, 1], [len(leave), len(come)])


@native
def test_arrays_that_do_not_fit_are_refused() -> None:
    puzzle, wanted = (
        _puzzle(1),
        MoveSetLimits((MOVE, MOVE), 100, any=True, steps=10, seconds=1.0, reads=(0, 0)),
    )
    for wrong in (
        replace(puzzle, target=puzzle.target + 100),
        replace(puzzle, cold=puzzle.cold[:-1]),
        replace(puzzle, first_change=puzzle.first_change + 1),
        replace(puzzle, change_price=puzzle.change_price + 10 * MOVE),
        replace(puzzle, row=-1 - puzzle.row),
        replace(puzzle, off=puzzle.off[:1]),
        replace(
            puzzle, price=puzzle.price[:1], off=puzzle.off[:1], change_price=puzzle.change_price[:1]
        ),
    ):
        with pytest.raises(ValueError, match=r"do not fit|negative"):
            sift(wrong, wanted)


def digest() -> str:
    found = fewest_moves.place(family.cluster(40, 3, seed=2), Budget(seconds=300))
    return sha256(found.rows.tobytes() + found.note.encode()).hexdigest()


@pytest.mark.slow
def test_with_and_without_the_native_loops_it_is_one_digest() -> None:
    run = [sys.executable, "-c", WITHOUT_NATIVE]
    name, other = subprocess.run(
        run, capture_output=True, text=True, check=True, timeout=300
    ).stdout.split()
    assert (name, other) == ("python", digest())

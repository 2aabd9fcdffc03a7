"""The bound of all nodes together: never more than is true, never less than counting, the same each
time.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flex.placing import score
from flex.placing.problem import Problem
from flex_solver.bounds import counting
from flex_solver.bounds.linear import relax
from flex_solver.exact import fewest_moves
from tests.solver.given import fewest, wished
from tests.thorough import times
from tests.unhurried import unhurried

Drifted = Callable[[int, int, int], Problem]


@pytest.mark.slow
@settings(max_examples=times(300))
@given(data=st.data(), first=st.sampled_from([0, 1, 12]), rounds=st.integers(1, 3))
def test_no_balanced_placement_moves_fewer(
    data: st.DataObject, tiny: st.SearchStrategy[Problem], first: int, rounds: int
) -> None:
    problem = data.draw(wished(tiny))
    moves = fewest(problem)
    if moves is not None:
        assert relax(problem, first=first, rounds=rounds).least <= moves


@pytest.mark.parametrize(("nodes", "seed"), [(3, 1), (3, 2), (4, 2), (4, 5)])
def test_it_lies_between_what_counting_says_and_the_proven_fewest(
    drifted: Drifted, nodes: int, seed: int
) -> None:
    problem = drifted(15 * nodes, nodes, seed)
    solution = fewest_moves.place(problem, unhurried())
    assert solution.proven
    for first, rounds in product((0, 1, 12), (1, 2, 3)):
        least = relax(problem, first=first, rounds=rounds).least
        assert counting.least_moves(problem) <= least <= score.moves(problem, solution.rows)


def test_it_sees_what_counting_at_each_node_cannot(drifted: Drifted) -> None:
    problem = drifted(400, 8, 1)
    assert (counting.least_moves(problem), relax(problem).least) == (5, 6)


def test_rows_that_are_pinned_or_may_not_stay_have_no_price(drifted: Drifted) -> None:
    problem = drifted(60, 4, 5)
    (first, node), (second, other) = problem.old[:2].tolist()
    asked = replace(problem, pinned={first: frozenset({node})}, barred={second: frozenset({other})})
    assert np.flatnonzero(np.isinf(relax(asked).reduced)).tolist() == [0, 1]


def test_without_the_program_counting_is_what_is_left(drifted: Drifted) -> None:
    problem = drifted(400, 8, 1)
    assert relax(problem, rounds=0).least == counting.least_moves(problem)


def test_the_same_is_said_each_time(drifted: Drifted) -> None:
    problem = drifted(300, 6, 1)
    first, again = relax(problem), relax(problem)
    assert first.least == again.least
    assert first.reduced.tobytes() == again.reduced.tobytes()

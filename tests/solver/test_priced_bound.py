"""What nodes would pay for their remedies: a number of moves that no balanced placement stays
under.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench.solver import family
from flex.placing.problem import Budget, Problem
from flex_solver import large
from flex_solver.bounds.linear import relax
from flex_solver.bounds.priced import floor
from tests.solver.given import fewest, wished
from tests.thorough import times


@pytest.mark.slow
@settings(max_examples=times(60))
@given(data=st.data())
def test_no_balanced_placement_has_fewer_moves(
    data: st.DataObject, tiny: st.SearchStrategy[Problem]
) -> None:
    problem = data.draw(wished(tiny))
    least = fewest(problem)
    assert least is None or floor(problem) <= least


@pytest.mark.parametrize(("seed", "counted", "least"), [(1, 5, 6), (3, 5, 6), (6, 3, 4), (8, 6, 7)])
def test_it_sees_what_the_sum_of_all_nodes_hides(seed: int, counted: int, least: int) -> None:
    problem = family.cluster(300, 8, seed=seed)
    assert (relax(problem).least, floor(problem)) == (counted, least)


@pytest.mark.slow
def test_moves_that_meet_it_are_proven_fewest() -> None:
    problem = family.cluster(600, 12, seed=2)
    found = large.place(problem, Budget(steps=2_000, seconds=100))
    assert found.proven
    assert found.bound > relax(problem).least


@pytest.mark.parametrize("tolerance", [0.0, 5e-4])
def test_nothing_is_said_of_a_band_too_narrow_to_look_at(tolerance: float) -> None:
    assert floor(replace(family.cluster(300, 8, seed=1), tolerance=tolerance)) == 0


def test_nothing_is_said_where_nothing_asks_for_anything() -> None:
    problem = family.cluster(300, 8, seed=1)
    assert floor(replace(problem, load=np.zeros_like(problem.load))) == 0

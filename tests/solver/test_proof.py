"""Whether so few moves can do: what is called impossible is, and what is found does."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from flex.placing import score
from flex.placing.problem import Budget, Problem
from flex_solver import large
from flex_solver.bounds import proof_by_integer_program
from flex_solver.bounds.linear import relax
from flex_solver.exact import fewest_moves as exact
from tests.solver.given import fewest, wished
from tests.thorough import times
from tests.unhurried import unhurried

Drifted = Callable[[int, int, int], Problem]


@pytest.mark.slow
@settings(max_examples=times(150))
@given(data=st.data(), few=st.integers(0, 3))
def test_what_is_called_impossible_is(
    data: st.DataObject, few: int, tiny: st.SearchStrategy[Problem]
) -> None:
    problem = data.draw(wished(tiny))
    moves = fewest(problem)
    verdict = proof_by_integer_program.judge_so_few_moves(problem, few, seconds=60)
    if moves is not None and moves <= few:
        assert not verdict.impossible
    if verdict.rows is not None:
        assert score.violations(problem, verdict.rows) == ()
        assert score.moves(problem, verdict.rows) <= few


@pytest.mark.slow
@settings(max_examples=times(60))
@given(data=st.data(), few=st.integers(0, 3))
def test_without_wishes_one_or_the_other_is_said(
    data: st.DataObject, few: int, tiny: st.SearchStrategy[Problem]
) -> None:
    problem = replace(data.draw(tiny), pinned={})
    assume(problem.load.any() and (problem.replicas < problem.open.sum()).any())
    moves = fewest(problem)
    verdict = proof_by_integer_program.judge_so_few_moves(problem, few, seconds=60)
    assert (moves is None or moves > few) == verdict.impossible == (verdict.rows is None)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_it_ends_where_the_exact_search_ends(drifted: Drifted, seed: int) -> None:
    problem = drifted(60, 4, seed)
    fewest_moves = exact.place(problem, unhurried()).bound
    assert proof_by_integer_program.judge_so_few_moves(
        problem, fewest_moves - 1, seconds=60
    ).impossible
    assert not proof_by_integer_program.judge_so_few_moves(
        problem, fewest_moves, seconds=60
    ).impossible


def test_the_large_search_proves_what_the_linear_program_cannot(drifted: Drifted) -> None:
    problem = drifted(60, 4, 3)
    found = large.place(problem, Budget(steps=2_000, seconds=100))
    assert found.proven
    assert relax(problem).least < found.bound


def test_no_time_settles_nothing(drifted: Drifted) -> None:
    verdict = proof_by_integer_program.judge_so_few_moves(drifted(200, 8, 1), 1, seconds=0)
    assert (verdict.impossible, verdict.rows) == (False, None)


def test_only_clusters_that_take_no_ages_are_looked_at(drifted: Drifted) -> None:
    problem = drifted(60, 4, 1)
    assert proof_by_integer_program.is_small(problem, steps=60 * 4 * proof_by_integer_program.STEPS)
    assert not proof_by_integer_program.is_small(
        problem, steps=60 * 4 * proof_by_integer_program.STEPS - 1
    )

"""The local search beside the exact one, and what it promises where nothing is proven."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from flex.placing import score
from flex.placing.problem import Budget, Ints, Problem, sort_by_site
from flex_solver.exact import fewest_moves
from flex_solver.rows_to_solution import total_off
from flex_solver.search import local_solver
from tests.unhurried import unhurried

Drifted = Callable[[int, int, int], Problem]

SOME = unhurried(40_000)


@pytest.mark.slow
def test_it_balances_what_can_be_balanced_for_little_more_than_the_fewest_moves(
    drifted: Drifted,
) -> None:
    problems = [drifted(40, 4, seed) for seed in range(8)]
    fewest = sum(fewest_moves.place(problem, unhurried()).bound for problem in problems)
    found = [local_solver.place(problem, SOME).rows for problem in problems]
    moves = sum(
        len(score.new_rows(problem, rows)) for problem, rows in zip(problems, found, strict=True)
    )
    assert not any(
        score.violations(problem, rows) for problem, rows in zip(problems, found, strict=True)
    )
    assert fewest <= moves <= 1.5 * fewest


def test_a_large_cluster_is_balanced_by_moving_a_few_of_its_sites(drifted: Drifted) -> None:
    problem = drifted(2_000, 16, 1)
    solution = local_solver.place(problem, SOME)
    assert not score.violations(problem, solution.rows)
    assert solution.bound <= len(score.new_rows(problem, solution.rows)) <= 60


@pytest.mark.parametrize("seed", [3, 4])
def test_even_a_short_search_leaves_no_move_that_can_be_spared(drifted: Drifted, seed: int) -> None:
    problem = drifted(1_000, 16, seed)
    rows = local_solver.place(problem, unhurried(800)).rows
    for site, _ in score.new_rows(problem, rows).tolist():
        assert total_off(problem, _taken_back(problem, rows, site)) > total_off(problem, rows)


def _taken_back(problem: Problem, rows: Ints, site: int) -> Ints:
    return sort_by_site(
        np.concatenate([rows[rows[:, 0] != site], problem.old[problem.old[:, 0] == site]])
    )


def test_a_resource_nobody_asks_for_is_no_matter(drifted: Drifted) -> None:
    problem = drifted(100, 4, 1)
    only_access = replace(problem, load=problem.load * [1.0, 0.0])
    rows = local_solver.place(only_access, SOME).rows
    assert not score.violations(only_access, rows)
    assert (
        len(score.new_rows(only_access, rows))
        <= 1.5 * fewest_moves.place(only_access, unhurried()).bound
    )


def test_what_leaves_a_closed_node_is_all_that_moves_where_that_is_enough(drifted: Drifted) -> None:
    problem = drifted(100, 4, 1)
    is_open = np.array([True, False, True, True])
    drained = replace(
        problem,
        open=is_open,
        share=np.where(is_open, 100.0, 0.0),
        load=problem.load * 0.75,
        tolerance=0.3,
    )
    rows = local_solver.place(drained, SOME).rows
    assert not score.violations(drained, rows)
    assert set(score.new_rows(drained, rows)[:, 0].tolist()) == set(
        problem.old[problem.old[:, 1] == 1, 0].tolist()
    )


def test_without_time_the_repaired_placement_comes_out(drifted: Drifted) -> None:
    problem = drifted(100, 4, 1)
    solution = local_solver.place(problem, Budget(seconds=0))
    assert solution.rows.tolist() == problem.old.tolist()
    assert "out of time after 0 of 8 parts" in solution.note

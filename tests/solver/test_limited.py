"""Limits of moves are kept by giving moves up, the least harmful first."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from flex import score
from flex.problem import Budget, MoveLimits, Problem
from flex_solver import large, local
from flex_solver.answer import total_off

Drifted = Callable[[int, int, int], Problem]
SHORT = Budget(steps=10_000, seconds=200)


@pytest.mark.parametrize("limit", [0, 1, 3])
def test_no_more_is_moved_than_may_be(drifted: Drifted, limit: int) -> None:
    problem = replace(drifted(120, 5, 1), limits=MoveLimits(moves=limit))
    for solver in (local.place, large.place):
        assert score.moves(problem, solver(problem, SHORT).rows) <= limit


def test_nor_do_more_cold_bytes_arrive_in_all_or_at_one_node(drifted: Drifted) -> None:
    free = drifted(120, 5, 1)
    arriving = score.inflow(free, local.place(free, SHORT).rows)
    for limits in (MoveLimits(cold_bytes=int(arriving.sum() // 2)), MoveLimits(inflow=int(arriving.max() // 2))):
        problem = replace(free, limits=limits)
        kinds = [broken.kind for broken in score.violations(problem, local.place(problem, SHORT).rows)]
        assert not {"cold", "inflow"} & set(kinds)


def test_the_moves_that_are_left_still_bring_load_back(drifted: Drifted) -> None:
    free = drifted(120, 5, 1)
    problem = replace(free, limits=MoveLimits(moves=3))
    assert total_off(problem, local.place(problem, SHORT).rows) < total_off(problem, problem.old)

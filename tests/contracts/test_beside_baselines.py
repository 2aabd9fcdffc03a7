"""On the drifted clusters that the solvers are measured on, no baseline is balanced with fewer
moves than `auto`.
"""

from __future__ import annotations

from functools import cache

import pytest

from bench.solver.family import cluster
from flex.placing import score
from flex.placing.problem import Budget, Ints, Problem
from flex_solver import SOLVERS

BUDGET = Budget(steps=2_000, seconds=200)
BASELINES = ("closest", "greedy", "hill", "keep", "offload", "round_robin", "scratch", "local")
CLUSTERS = [(100, 4, 1), (400, 8, 3), (600, 12, 4)]


@cache
def asked(sites: int, nodes: int, seed: int) -> tuple[Problem, Ints]:
    problem = cluster(sites, nodes, seed=seed)
    return problem, SOLVERS["auto"](problem, BUDGET).rows


def merit(problem: Problem, rows: Ints) -> tuple[int, int]:
    """How many rules a placement breaks, then its moves: what is worse in the first may do with
    fewer of the others.
    """
    return len(score.violations(problem, rows)), score.moves(problem, rows)


@pytest.mark.slow("(100, 4, 1)-closest", "(400, 8, 3)-closest", "(600, 12, 4)-closest")
@pytest.mark.parametrize("baseline", BASELINES)
@pytest.mark.parametrize("size", CLUSTERS, ids=str)
def test_no_baseline_breaks_as_few_rules_with_fewer_moves(
    baseline: str, size: tuple[int, int, int]
) -> None:
    problem, found = asked(*size)
    assert merit(problem, found) <= merit(problem, SOLVERS[baseline](problem, BUDGET).rows)

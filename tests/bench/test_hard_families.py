"""The hard families of the solver's bench are what they are said to be, and can be kept to."""

from __future__ import annotations

import numpy as np
import pytest

from bench.solver.hard_families import FAMILIES, first_seed, nodes_outside
from flex.placing import score
from flex.placing.problem import Budget, Problem
from flex_solver import SOLVERS

# Small enough for a test, and large enough to have replicas and surges.
SIZE = (120, 4)


@pytest.mark.parametrize("family", FAMILIES)
def test_a_family_has_loads_that_add_up_and_rows_in_force(family: str) -> None:
    problem = FAMILIES[family](*SIZE, first_seed())
    asked = (problem.load * problem.replicas[:, None]).sum(axis=0)
    assert np.allclose(asked, problem.share.sum())
    assert len(problem.dimensions) == problem.load.shape[1]
    assert len(np.unique(problem.old, axis=0)) == len(problem.old)
    assert (problem.old[:, 1] < len(problem.nodes)).all()


@pytest.mark.parametrize("family", FAMILIES)
def test_seeds_are_problems_of_their_own_and_the_same_each_time(family: str) -> None:
    first, again, other = (FAMILIES[family](*SIZE, seed) for seed in (1, 1, 2))
    assert np.array_equal(first.load, again.load)
    assert np.array_equal(first.old, again.old)
    assert not np.array_equal(first.load, other.load)


def test_families_ask_for_what_their_names_say() -> None:
    made = {name: make(*SIZE, 1) for name, make in FAMILIES.items()}
    assert made["dims4"].load.shape[1] == 4
    assert made["hours"].load.shape[1] == 72
    assert (made["tol1"].tolerance, made["tol2"].tolerance) == (0.01, 0.02)
    assert made["limits"].limits.moves is not None
    assert len(set(made["unequal"].share.tolist())) == 4
    # Of a third that does not divide into groups some are left over.
    assert SIZE[0] // 5 - 3 <= _with_wishes(made["wishes"]) <= SIZE[0] // 5


def test_nodes_outside_the_band_are_counted_as_the_judge_counts_them() -> None:
    problem = FAMILIES["unequal"](*SIZE, 1)
    rows = SOLVERS["keep"](problem, Budget()).rows
    named = {
        one.subject.partition(" ")[0]
        for one in score.violations(problem, rows)
        if one.kind in ("over", "under")
    }
    assert nodes_outside(problem, rows) == len(named)


def _with_wishes(problem: Problem) -> int:
    grouped = [site for group in (*problem.apart, *problem.together) for site in group]
    return len({*problem.pinned, *grouped})

"""The search by blocks: ahead of the search it begins with, the same on any number of threads, true
to every wish.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import combinations
from math import inf
from unittest.mock import Mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flex.placing import score
from flex.placing.problem import Budget, Problem, sort_by_site
from flex.ports import Solver
from flex_solver import large
from flex_solver.exact import fewest_moves
from flex_solver.search import heavy_site_programs, local_solver, starts
from flex_solver.search.one_exchange_per_node import deal_remedies
from flex_solver.search.repair_wishes import repair_all
from tests.thorough import times
from tests.unhurried import unhurried

Drifted = Callable[[int, int, int], Problem]

SHORT = Budget(steps=2_000, seconds=200)
LONGER = replace(SHORT, steps=large.THOROUGH * SHORT.steps)


@pytest.fixture
def as_with_many_nodes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is decided before the searches."""
    monkeypatch.setattr(heavy_site_programs, "FEW_NODES", 0)


def moves(problem: Problem, solver: Solver) -> int:
    solution = solver(problem, SHORT)
    assert solution.bound <= score.moves(problem, solution.rows)
    return score.moves(problem, solution.rows)


@pytest.mark.slow
@pytest.mark.usefixtures("as_with_many_nodes")
@pytest.mark.parametrize(
    ("seed", "fewer"),
    [
        *(pytest.param(seed, fewer, marks=pytest.mark.torture) for seed, fewer in ((1, 1), (3, 0))),
        (2, 10),
        (5, 2),
    ],
)
def test_blocks_spare_moves_that_the_search_before_needs(
    drifted: Drifted, seed: int, fewer: int
) -> None:
    problem = drifted(400, 8, seed)
    assert moves(problem, large.place) <= moves(problem, local_solver.place) - fewer


@pytest.mark.slow
def test_the_proven_fewest_moves_are_found_where_they_are_known(drifted: Drifted) -> None:
    problem = drifted(60, 4, 5)
    assert moves(problem, large.place) == fewest_moves.place(problem, unhurried()).bound


@pytest.mark.slow
@pytest.mark.usefixtures("as_with_many_nodes")
@pytest.mark.parametrize(
    ("sites", "nodes"), [(200, 6), pytest.param(600, 12, marks=pytest.mark.torture)]
)
def test_what_comes_out_does_not_depend_on_the_number_of_threads(
    drifted: Drifted, sites: int, nodes: int
) -> None:
    problem = drifted(sites, nodes, 4)
    one, three = (large.place(problem, SHORT, threads=threads) for threads in (1, 3))
    assert (one.rows.tolist(), one.note) == (three.rows.tolist(), "")


def test_by_searches_alone_the_answer_is_no_worse_than_that_of_a_longer_local_search(
    drifted: Drifted,
) -> None:
    problem = drifted(300, 6, 4)
    found, known = (
        large.place(problem, SHORT, with_highs=False),
        local_solver.place(problem, LONGER),
    )
    assert score.moves(problem, found.rows) <= score.moves(problem, known.rows)


def test_when_time_runs_out_the_best_so_far_comes_out_and_says_so(drifted: Drifted) -> None:
    problem = drifted(100, 4, 1)
    assert "out of time" in large.place(problem, Budget(seconds=0)).note


@st.composite
def wished(draw: st.DrawFn, drifted: Drifted) -> Problem:
    """A cluster of which some sites have a replica more, are barred from where they are, or keep
    apart.
    """
    problem = drifted(40, 5, draw(st.integers(0, 20)))
    sites = st.integers(0, 39)
    replicas = problem.replicas.copy()
    replicas[draw(st.lists(sites, max_size=3))] = 2
    barred = {
        site: frozenset({int(problem.old[site, 1])}) for site in draw(st.sets(sites, max_size=3))
    }
    crowd = draw(st.sets(sites, max_size=2)) | {int(problem.load[:, 0].argmax())}
    apart = tuple(frozenset(pair) for pair in combinations(sorted(crowd), 2))
    return replace(problem, replicas=replicas, barred=barred, apart=apart, tolerance=0.3)


@pytest.mark.slow
@settings(max_examples=times(15))
@given(data=st.data())
def test_every_wish_is_kept_while_blocks_are_solved(data: st.DataObject, drifted: Drifted) -> None:
    problem = data.draw(wished(drifted))
    for solver in (large.place, local_solver.place):
        rows = solver(problem, SHORT).rows
        assert not [broken for broken in score.violations(problem, rows) if broken.is_wish]
        assert np.bincount(rows[:, 0]).tolist() == problem.replicas.tolist()


@pytest.mark.slow
def test_starts_that_are_equal_are_dealt_with_once(
    drifted: Drifted, monkeypatch: pytest.MonkeyPatch
) -> None:
    problem, dealing = drifted(600, 12, 4), Mock(wraps=deal_remedies)
    monkeypatch.setattr(starts, "deal_remedies", dealing)
    rows = sort_by_site(repair_all(problem))
    one, other = starts._deals(problem, [rows, rows.copy()], 2, until=inf)
    assert one.rows.tolist() == other.rows.tolist()
    assert 1 <= dealing.call_count <= starts.DEALS

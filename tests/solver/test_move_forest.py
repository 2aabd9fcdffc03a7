"""Trees of moves: no placement has fewer moves than they allow."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from bench.solver import family
from flex.placing.problem import Budget, Problem, sort_by_site
from flex_solver import large
from flex_solver.bounds import move_forest
from tests.solver.given import fewest, wished
from tests.thorough import times


@settings(max_examples=times(40))
@given(data=st.data())
def test_no_placement_has_fewer_moves(
    data: st.DataObject, tiny: st.SearchStrategy[Problem]
) -> None:
    problem = data.draw(wished(tiny))
    assume(move_forest.is_small(problem))
    moves = fewest(problem)
    assert moves is None or move_forest.least(problem) <= moves


@pytest.mark.parametrize(("seed", "moves"), [(1, 6), (2, 6)])
def test_where_nodes_fall_into_trees_the_fewest_moves_are_proven(seed: int, moves: int) -> None:
    assert move_forest.least(family.cluster(300, 8, seed=seed)) == moves


def test_it_is_part_of_the_search_for_large_clusters() -> None:
    problem = family.cluster(300, 8, seed=1)
    found = large.place(problem, Budget(steps=20_000, seconds=100), with_highs=False)
    assert found.proven


@pytest.mark.parametrize("more", [1, -1])
def test_replicas_that_are_new_and_replicas_that_vanish_are_seen_to(more: int) -> None:
    problem = family.cluster(300, 8, seed=1)
    replicas, old = problem.replicas.copy(), problem.old
    smallest = np.argsort(problem.load.max(axis=1))[:2]
    held = old[np.isin(old[:, 0], smallest)]
    if more > 0:
        replicas[smallest] += 1
    else:
        old = sort_by_site(
            np.concatenate([old, np.stack([held[:, 0], (held[:, 1] + 1) % 8], axis=1)])
        )
    changed = replace(problem, replicas=replicas, old=old)
    assert move_forest.least(changed) <= move_forest.least(problem) + 2 * max(more, 0)


def test_rows_that_are_all_alike_may_leave_one_node_for_all_others() -> None:
    problem = _alike(7)
    assert move_forest.least(problem) <= 6


def _alike(nodes: int) -> Problem:
    """Equal sites: each node should have two, but the first has the second ones of all others."""
    one, held = (
        family.cluster(nodes, nodes, seed=1),
        np.concatenate([np.arange(nodes), np.zeros(nodes, dtype=np.int64)]),
    )
    sites = len(held)
    return replace(
        one,
        sites=tuple(f"s{site:02}.example.org" for site in range(sites)),
        replicas=np.ones(sites, dtype=np.int64),
        load=np.full((sites, 2), 100.0 * nodes / sites),
        cold=np.ones(sites, dtype=np.int64),
        old=np.stack([np.arange(sites), held], axis=1),
    )

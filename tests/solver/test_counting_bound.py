"""The bound never says more than is true, and says what can be counted."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flex.placing.problem import Problem
from flex_solver.bounds import counting
from flex_solver.exact import fewest_moves
from flex_solver.wishes_as_row_rules import RowRules
from tests.thorough import times
from tests.unhurried import unhurried

Cluster = Callable[..., Problem]


@pytest.mark.slow
@settings(max_examples=times(150))
@given(data=st.data())
def test_no_balanced_placement_moves_fewer_rows(
    data: st.DataObject,
    tiny: st.SearchStrategy[Problem],
    best_of_all: Callable[[Problem], tuple[float, int, int]],
) -> None:
    problem = data.draw(tiny)
    outside, moves, _ = best_of_all(problem)
    if not outside:
        assert counting.least_moves(problem) <= moves


@pytest.mark.slow
@settings(max_examples=10)
@given(seed=st.integers(0, 1000))
def test_the_proven_fewest_are_no_fewer(
    drifted: Callable[[int, int, int], Problem], seed: int
) -> None:
    problem = drifted(30, 3, seed)
    solution = fewest_moves.place(problem, unhurried())
    assert not solution.proven or counting.least_moves(problem) <= solution.bound


def test_what_must_leave_an_overfull_node_is_counted_largest_first(cluster: Cluster) -> None:
    loads = {"a": (40, 40), "b": (30, 30), "c": (30, 30), "d": (60, 60), "e": (40, 40)}
    problem = cluster(loads, {site: ["n0"] for site in loads})
    assert counting.leaving(problem).tolist() == [2, 0]
    assert counting.least_moves(problem) == 2


def test_what_must_come_to_an_empty_node_is_counted_largest_first(cluster: Cluster) -> None:
    loads = {"a": (100, 10), "b": (30, 90), "c": (70, 100)}
    problem = cluster(loads, {"a": ["n0"], "b": ["n0"], "c": ["n0"]})
    assert counting.entering(problem).tolist() == [0, 1]


def test_new_sites_missing_replicas_and_unheld_pins_are_wishes(cluster: Cluster) -> None:
    problem = cluster(
        {"a": (10, 10), "b": (10, 10), "c": (10, 10), "d": (10, 10)},
        {"b": ["n0"], "c": ["n0"], "d": ["n0"]},
        replicas={"b": 2},
        pins={"c": ["n1"]},
    )
    assert RowRules(problem).rows_demanded.tolist() == [1, 1, 1, 0]


def test_surplus_replicas_vanish_for_nothing(cluster: Cluster) -> None:
    problem = cluster({"a": (100, 100), "b": (100, 100)}, {"a": ["n0", "n1"], "b": ["n0"]})
    assert counting.least_moves(problem) == 0


def test_what_is_pinned_elsewhere_is_not_counted_as_what_may_come(cluster: Cluster) -> None:
    loads = {"a": (100, 100), "b": (40, 40), "c": (40, 40), "d": (20, 20)}
    in_force = {site: ["n0"] for site in loads}
    assert counting.entering(cluster(loads, in_force)).tolist() == [0, 1]
    assert counting.entering(cluster(loads, in_force, pins={"a": ["n0"]})).tolist() == [0, 3]


def test_a_site_with_a_replica_to_spare_may_come_though_it_is_pinned_elsewhere(
    cluster: Cluster,
) -> None:
    loads = {"a": (60, 60), "b": (40, 40), "c": (20, 20), "d": (20, 20)}
    in_force = {site: ["n0"] for site in loads}
    assert counting.entering(
        cluster(loads, in_force, pins={"a": ["n0"]}, replicas={"a": 2})
    ).tolist() == [0, 2]


def test_of_idle_sites_that_are_to_be_apart_all_but_one_leave_a_node(cluster: Cluster) -> None:
    loads = {"a": (0, 0), "b": (0, 0), "c": (0, 0), "d": (50, 50), "e": (50, 50), "f": (0, 0)}
    in_force = {site: ["n0"] for site in "abcd"} | {"e": ["n1"]}
    problem = cluster(loads, in_force, nodes=3)
    assert counting.idle(problem) == 1
    assert counting.idle(replace(problem, apart=(frozenset({0, 1, 2}), frozenset({1, 2})))) == 3
    assert counting.idle(replace(problem, apart=(frozenset({0, 3}), frozenset({1, 4})))) == 1

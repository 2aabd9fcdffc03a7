"""The two solvers that are there for comparison."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from flex import score
from flex.problem import Budget, Problem, in_order
from flex_solver import round_robin, scratch

Cluster = Callable[..., Problem]


def test_a_partition_from_scratch_is_balanced_and_moves_much(drifted: Callable[[int, int, int], Problem]) -> None:
    problem = drifted(100, 4, 1)
    rows = scratch.place(problem, Budget()).rows
    assert not score.violations(problem, rows)
    assert len(score.moved(problem, rows)) > 25


def test_a_partition_from_scratch_names_its_nodes_after_the_old_ones(drifted: Callable[..., Problem]) -> None:
    problem = drifted(100, 4, 1)
    rows = scratch.place(problem, Budget()).rows
    turned = in_order(np.stack([rows[:, 0], np.array([2, 0, 3, 1])[rows[:, 1]]], axis=1))
    in_force = replace(problem, old=turned)
    assert scratch.place(in_force, Budget()).rows.tolist() == turned.tolist()


def test_a_few_pinned_sites_do_not_make_a_partition_from_scratch_look_worse(drifted: Callable[..., Problem]) -> None:
    problem = drifted(100, 4, 1)
    rows = scratch.place(problem, Budget()).rows
    in_force = replace(problem, old=in_order(np.stack([rows[:, 0], np.array([2, 0, 3, 1])[rows[:, 1]]], axis=1)))
    lightest = np.argsort(problem.load.max(axis=1))[:8]
    pinned = {int(site): frozenset({node % 4}) for node, site in enumerate(lightest)}
    answered = scratch.place(replace(in_force, pinned=pinned), Budget()).rows
    assert len(score.moved(in_force, answered)) <= 10
    assert not score.violations(replace(problem, pinned=pinned), answered)


def test_a_large_pinned_site_keeps_the_others_from_the_names_of_its_node(cluster: Cluster) -> None:
    loads = {"a": (50, 50), "b": (50, 50), "large": (100, 100)}
    problem = cluster(loads, {"a": ["n0"], "b": ["n0"], "large": ["n0"]}, pins={"large": ["n0"]})
    assert not score.violations(problem, scratch.place(problem, Budget()).rows)


def test_sites_go_round_from_node_to_node(cluster: Cluster) -> None:
    problem = cluster(
        dict.fromkeys("abcde", (10, 10)), {}, nodes=4, closed=["n1"], replicas={"b": 2}, pins={"d": ["n3"]}
    )
    rows = [(problem.sites[s], problem.nodes[n]) for s, n in round_robin.place(problem, Budget()).rows.tolist()]
    assert rows == [("a", "n0"), ("b", "n2"), ("b", "n3"), ("c", "n3"), ("d", "n3"), ("e", "n2")]

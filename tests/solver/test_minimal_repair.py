"""The repaired placement every search begins from."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from flex.placing.problem import Problem
from flex_solver.search.repair_wishes import repair

Cluster = Callable[..., Problem]


def repaired(problem: Problem) -> list[tuple[str, str]]:
    rows = repair(problem, np.arange(len(problem.sites)), problem.old[:0])
    return sorted((problem.sites[site], problem.nodes[node]) for site, node in rows.tolist())


def test_a_missing_replica_joins_those_that_stay(cluster: Cluster) -> None:
    problem = cluster(
        {"a": (90, 90), "b": (20, 20)},
        {"a": ["n0"], "b": ["n0"]},
        nodes=3,
        replicas={"b": 2},
        tolerance=0.5,
    )
    assert repaired(problem) == [("a", "n0"), ("b", "n0"), ("b", "n1")]


def test_a_surplus_replica_leaves_the_fuller_node_unless_it_is_pinned_there(
    cluster: Cluster,
) -> None:
    loads, old = {"a": (90, 90), "b": (20, 20)}, {"a": ["n0"], "b": ["n0", "n1"]}
    assert repaired(cluster(loads, old)) == [("a", "n0"), ("b", "n1")]
    assert repaired(cluster(loads, old, pins={"b": ["n0"]})) == [("a", "n0"), ("b", "n0")]


def test_the_largest_new_site_goes_where_most_room_is(cluster: Cluster) -> None:
    problem = cluster({"a": (70, 10), "b": (10, 60), "c": (20, 20)}, {"a": ["n0"]})
    assert repaired(problem) == [("a", "n0"), ("b", "n1"), ("c", "n1")]


def test_new_silent_sites_are_spread_by_number(cluster: Cluster) -> None:
    silent = {f"s{s:02}": (0.0, 0.0) for s in range(8)}
    problem = cluster({"a": (50, 50), **silent}, {"a": ["n0"]}, nodes=3)
    per_node = [node for site, node in repaired(problem) if site != "a"]
    assert [per_node.count(name) for name in problem.nodes] == [2, 3, 3]

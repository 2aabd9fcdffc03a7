"""The solvers that are there for comparison: each follows its own rule, and keeps wishes and limits
all the same.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from flex.placing import score
from flex.placing.problem import Budget, MoveLimits, Problem, sort_by_site
from flex.ports import Solver
from flex_solver import from_scratch
from flex_solver.rivals import (
    fewest_moves_by_chance,
    greedy,
    hacc_rival,
    hill_climbing,
    round_robin,
)
from flex_solver.search.site_ledger import Ledger

Cluster = Callable[..., Problem]


def test_a_partition_from_scratch_is_balanced_and_moves_much(
    drifted: Callable[[int, int, int], Problem],
) -> None:
    problem = drifted(100, 4, 1)
    rows = from_scratch.place(problem, Budget()).rows
    assert not score.violations(problem, rows)
    assert len(score.new_rows(problem, rows)) > 25


def test_a_partition_from_scratch_names_its_nodes_after_the_old_ones(
    drifted: Callable[..., Problem],
) -> None:
    problem = drifted(100, 4, 1)
    rows = from_scratch.place(problem, Budget()).rows
    turned = sort_by_site(np.stack([rows[:, 0], np.array([2, 0, 3, 1])[rows[:, 1]]], axis=1))
    in_force = replace(problem, old=turned)
    assert from_scratch.place(in_force, Budget()).rows.tolist() == turned.tolist()


def test_a_few_pinned_sites_do_not_make_a_partition_from_scratch_look_worse(
    drifted: Callable[..., Problem],
) -> None:
    problem = drifted(100, 4, 1)
    rows = from_scratch.place(problem, Budget()).rows
    in_force = replace(
        problem,
        old=sort_by_site(np.stack([rows[:, 0], np.array([2, 0, 3, 1])[rows[:, 1]]], axis=1)),
    )
    lightest = np.argsort(problem.load.max(axis=1))[:8]
    pinned = {int(site): frozenset({node % 4}) for node, site in enumerate(lightest)}
    answered = from_scratch.place(replace(in_force, pinned=pinned), Budget()).rows
    assert len(score.new_rows(in_force, answered)) <= 10
    assert not score.violations(replace(problem, pinned=pinned), answered)


def test_a_large_pinned_site_keeps_the_others_from_the_names_of_its_node(cluster: Cluster) -> None:
    loads = {"a": (50, 50), "b": (50, 50), "large": (100, 100)}
    problem = cluster(loads, {"a": ["n0"], "b": ["n0"], "large": ["n0"]}, pins={"large": ["n0"]})
    assert not score.violations(problem, from_scratch.place(problem, Budget()).rows)


def test_sites_go_round_from_node_to_node(cluster: Cluster) -> None:
    problem = cluster(
        {site: (10 + n, 10) for n, site in enumerate("abcde")},
        {},
        nodes=4,
        closed=["n1"],
        replicas={"b": 2},
        pins={"d": ["n3"]},
    )
    rows = [
        (problem.sites[s], problem.nodes[n])
        for s, n in round_robin.place(problem, Budget()).rows.tolist()
    ]
    assert rows == [("a", "n0"), ("b", "n2"), ("b", "n3"), ("c", "n3"), ("d", "n3"), ("e", "n2")]


FIVE = {"a": (60, 60), "b": (50, 50), "c": (40, 40), "d": (30, 30), "e": (20, 20)}
ON_FIRST = {"a": ["n0"], "b": ["n0"], "c": ["n0"], "d": ["n1"], "e": ["n1"]}


def placed(problem: Problem, solver: Solver) -> dict[str, str]:
    rows = solver(problem, Budget()).rows.tolist()
    return {problem.sites[site]: problem.nodes[node] for site, node in rows}


def test_hill_climbing_sends_the_largest_site_that_fits_to_the_emptiest_node(
    cluster: Cluster,
) -> None:
    found = placed(cluster(FIVE, ON_FIRST), hill_climbing.place)
    assert [site for site, node in found.items() if node not in ON_FIRST[site]] == ["a"]


def test_hill_climbing_swaps_where_nothing_fits(cluster: Cluster) -> None:
    loads = {"a": (70, 70), "b": (60, 60), "c": (40, 40), "d": (30, 30)}
    problem = cluster(loads, {"a": ["n0"], "b": ["n0"], "c": ["n1"], "d": ["n1"]}, tolerance=0.05)
    assert not score.violations(problem, hill_climbing.place(problem, Budget()).rows)
    assert len(score.new_rows(problem, hill_climbing.place(problem, Budget()).rows)) == 2


def test_hill_climbing_keeps_an_earlier_dimension_in_the_band(cluster: Cluster) -> None:
    loads = {"a": (100, 20), "b": (100, 100), "c": (0, 80)}
    problem = cluster(loads, {"a": ["n0"], "b": ["n1"], "c": ["n1"]})
    assert placed(problem, hill_climbing.place) == {"a": "n0", "b": "n1", "c": "n0"}


def test_off_loading_is_between_the_fullest_node_and_the_emptiest(cluster: Cluster) -> None:
    problem = cluster(
        {"a": (90, 90), "b": (60, 60), "c": (50, 50)},
        {"a": ["n0"], "b": ["n1"], "c": ["n1"]},
        nodes=3,
    )
    assert placed(problem, hacc_rival.place) == {"a": "n0", "b": "n2", "c": "n1"}


def test_the_greedy_rule_takes_the_largest_sites_off_an_overloaded_node(cluster: Cluster) -> None:
    assert placed(cluster(FIVE, ON_FIRST), greedy.greedy) == {
        "a": "n1",
        "b": "n0",
        "c": "n0",
        "d": "n1",
        "e": "n1",
    }


def test_first_fit_keeps_the_largest_sites_that_fit(cluster: Cluster) -> None:
    assert placed(cluster(FIVE, ON_FIRST), greedy.keep) == {
        "a": "n0",
        "b": "n0",
        "c": "n1",
        "d": "n1",
        "e": "n1",
    }


def test_of_many_partitions_the_closest_is_balanced_and_no_farther_than_one_from_scratch(
    drifted: Callable[[int, int, int], Problem],
) -> None:
    problem = drifted(60, 4, 3)
    found, alone = (
        solver(problem, Budget()).rows
        for solver in (fewest_moves_by_chance.place, from_scratch.place)
    )
    assert not score.violations(problem, found)
    assert 0 < len(score.new_rows(problem, found)) <= len(score.new_rows(problem, alone))


@pytest.mark.parametrize(
    "solver",
    [
        fewest_moves_by_chance.place,
        greedy.greedy,
        greedy.keep,
        hill_climbing.place,
        hacc_rival.place,
    ],
)
@pytest.mark.parametrize(
    "limits", [MoveLimits(moves=1), MoveLimits(cold_bytes=150), MoveLimits(inflow=100)], ids=str
)
def test_rules_of_comparison_stay_within_the_limits(
    solver: Solver, limits: MoveLimits, cluster: Cluster
) -> None:
    problem = replace(
        cluster(FIVE, ON_FIRST, nodes=3, cold=dict.fromkeys(FIVE, 100)), limits=limits
    )
    broken = score.violations(problem, solver(problem, Budget()).rows)
    assert not [violation for violation in broken if violation.kind in ("moves", "cold", "inflow")]


def test_a_ledger_opens_no_node_to_a_site_that_a_wish_forbids(cluster: Cluster) -> None:
    problem = cluster(
        dict.fromkeys("abc", (10, 10)), {site: ["n0"] for site in "abc"}, nodes=4, closed=["n3"]
    )
    a, b = 0, 1
    wished = replace(problem, barred={a: frozenset({2})}, apart=(frozenset({a, b}),))
    ledger = Ledger(wished, sort_by_site(np.array([[0, 0], [1, 1], [2, 0]])))
    assert ledger.may_take(a).tolist() == [False, False, False, False]
    ledger.take(b, 1)
    assert ledger.may_take(a).tolist() == [False, True, False, False]
    assert ledger.may_take(b).tolist() == [False, True, True, False]

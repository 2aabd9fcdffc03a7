"""Clusters far off, and such as no placement can balance: as few moves as that takes, never a new
partition.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench.solver.family import cluster
from flex.placing import score
from flex.placing.problem import Budget, Floats, Problem, Solution, sort_by_site
from flex.placing.why_best_effort import BAND
from flex_solver import SOLVERS
from flex_solver.rows_to_solution import total_off, worst
from flex_solver.search import local_solver, partition_in_integers
from flex_solver.search.bring_nodes_near_band import FAR, bring_nodes_near
from flex_solver.search.choose_rows_to_search import make_all_movable
from flex_solver.search.fewer_cold_bytes import colder
from flex_solver.search.needless_moves import drop_small_moves
from flex_solver.search.partition_in_integers import Placed
from flex_solver.search.repair_wishes import repair_all
from tests.solver.given import wished
from tests.thorough import first_quick, times

BUDGET = Budget(steps=2_000, seconds=200)
BASELINES = ("greedy", "hill", "keep", "offload", "scratch")
NODES = 12


def scaled(problem: Problem, load: Floats) -> Problem:
    total = (load * problem.replicas[:, None]).sum(axis=0)
    return replace(problem, load=load * problem.share.sum() / total)


def with_open(problem: Problem, is_open: list[bool]) -> Problem:
    opened = np.array(is_open)
    changed = replace(problem, open=opened, share=np.where(opened, 100.0, 0.0))
    return scaled(changed, changed.load)


def after_weeks() -> Problem:
    problem = cluster(600, NODES, seed=1)
    return scaled(
        problem,
        problem.load * np.exp(0.6 * np.random.default_rng(1).standard_normal(problem.load.shape)),
    )


def with_two_nodes_more() -> Problem:
    return with_more(2)


def with_more(nodes: int, sites: int = 600) -> Problem:
    problem = cluster(sites, NODES - nodes, seed=2)
    names = tuple(f"n{n:04}" for n in range(NODES))
    grown = replace(
        problem, nodes=names, open=np.ones(NODES, dtype=np.bool_), share=np.full(NODES, 100.0)
    )
    return scaled(grown, grown.load)


def with_two_nodes_less() -> Problem:
    return with_open(cluster(600, NODES, seed=3), [n not in (3, 7) for n in range(NODES)])


def with_large_sites_pinned() -> Problem:
    problem = cluster(600, NODES, seed=4)
    largest = np.argsort(-problem.load.max(axis=1), kind="stable")[:100:5].tolist()
    return replace(
        problem, pinned={site: frozenset({n % NODES}) for n, site in enumerate(sorted(largest))}
    )


def with_too_much_pinned() -> Problem:
    problem = cluster(600, NODES, seed=5)
    largest = np.argsort(-problem.load.max(axis=1), kind="stable")[:10].tolist()
    return replace(problem, pinned={site: frozenset({0}) for site in largest})


FAR_OFF = [
    after_weeks,
    with_two_nodes_more,
    with_two_nodes_less,
    with_large_sites_pinned,
    with_too_much_pinned,
]


@cache
def answered(make: Callable[[], Problem]) -> tuple[Problem, Solution]:
    problem = make()
    return problem, SOLVERS["auto"](problem, BUDGET)


@pytest.mark.slow
@pytest.mark.parametrize("make", FAR_OFF)
def test_no_rule_that_comes_as_near_to_the_band_does_it_with_fewer_moves(
    make: Callable[[], Problem],
) -> None:
    problem, found = answered(make)[0], answered(make)[1].rows
    wide = worst(problem, found) + problem.tolerance / 10
    for name in BASELINES:
        rows = SOLVERS[name](problem, BUDGET).rows
        if worst(problem, rows) <= wide and total_off(problem, rows) <= total_off(problem, found):
            assert score.moves(problem, found) <= score.moves(problem, rows), name


@pytest.mark.parametrize("make", first_quick(FAR_OFF[:4], 2))
def test_a_cluster_far_off_is_balanced_around_what_is_in_force(make: Callable[[], Problem]) -> None:
    problem, found = answered(make)
    assert not score.violations(problem, found.rows)
    assert score.moves(problem, found.rows) <= int((~problem.open[problem.old[:, 1]]).sum()) + 90


@pytest.mark.slow
def test_a_search_whose_time_was_up_is_not_given_up_for_a_partition_from_scratch() -> None:
    problem = with_more(4, sites=2_000)
    found = SOLVERS["auto"](problem, replace(BUDGET, seconds=0.01))
    assert "out of time" in found.note
    assert score.moves(problem, found.rows) < len(problem.sites) / 3


@pytest.mark.slow
def test_pins_that_are_too_much_move_little_beside_and_are_named() -> None:
    problem, found = answered(with_too_much_pinned)
    assert worst(problem, found.rows) <= _pinned(problem) + problem.tolerance / 5
    assert score.moves(problem, found.rows) < len(problem.sites) / 3
    assert "best effort" in found.note
    assert "the pin of" in found.note


def _pinned(problem: Problem) -> float:
    """How far off the pins alone put the worst node."""
    total = np.zeros((len(problem.nodes), 2))
    for site, nodes in problem.pinned.items():
        total[sorted(nodes)] += problem.load[site]
    return float((total / problem.share[:, None] - 1).max())


def test_where_pins_leave_room_every_band_is_the_tolerance() -> None:
    low, high = partition_in_integers.bands(with_large_sites_pinned(), 0.05)
    assert (low == 0.95).all()
    assert (high == 1.05).all()


def test_where_they_do_not_the_worst_node_keeps_them_and_the_others_share_what_is_left() -> None:
    problem = with_too_much_pinned()
    low, high = partition_in_integers.bands(problem, 0.05)
    assert high[0].max() == pytest.approx(1 + _pinned(problem) + partition_in_integers.NEAR * 0.05)
    assert (low[1:] <= 0.95).all()
    assert (high[1:] == 1.05).all()


def start(problem: Problem) -> Placed:
    rows = sort_by_site(repair_all(problem))
    return make_all_movable(problem, rows)


def test_relief_brings_every_node_near_its_band() -> None:
    found = bring_nodes_near(start(with_two_nodes_more()))
    off = (
        np.maximum(found.totals() - found.items.high, found.items.low - found.totals())
        .clip(0)
        .sum(axis=1)
    )
    assert off.max() <= FAR


def test_colder_sites_go_where_as_many_moves_do_as_well(
    drifted: Callable[[int, int, int], Problem],
) -> None:
    problem = drifted(400, 8, 1)
    rows = local_solver.place(problem, BUDGET).rows
    after = colder(problem, make_all_movable(problem, rows))[0].rows
    assert not score.violations(problem, after)
    assert score.moves(problem, after) <= score.moves(problem, rows)
    assert score.cold_bytes(problem, after) < 0.95 * score.cold_bytes(problem, rows)


@pytest.mark.slow
@settings(max_examples=times(40))
@given(data=st.data())
def test_neither_breaks_a_wish_nor_makes_anything_worse(
    data: st.DataObject, tiny: st.SearchStrategy[Problem]
) -> None:
    problem = data.draw(wished(tiny))
    before = start(problem)
    for after in (
        bring_nodes_near(before),
        colder(problem, before)[0],
        drop_small_moves(before, problem.tolerance),
    ):
        broken = [
            {one.kind for one in score.violations(problem, one.rows)} - set(BAND)
            for one in (before, after)
        ]
        assert broken[1] <= broken[0]
    assert bring_nodes_near(before).merit()[0] <= before.merit()[0]
    assert colder(problem, before)[0].merit() <= before.merit()

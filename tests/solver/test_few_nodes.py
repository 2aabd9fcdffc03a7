"""Clusters of few nodes: the heaviest sites are decided, and so few moves are proven."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from bench.solver import family, hard_families
from flex.placing import score
from flex.placing.problem import DIMENSIONS, Budget, Ints, Problem
from flex.placing.why_best_effort import TOO_LITTLE_TIME
from flex_solver import SOLVERS, large
from flex_solver.bounds.linear import relax
from flex_solver.bounds.rising_move_bound import RisingBound
from flex_solver.search.heavy_site_programs import HeaviestSites
from flex_solver.search.starts import first_start
from tests.solver.given import fewest, placements, wished
from tests.thorough import times

Drifted = Callable[[int, int, int], Problem]

BUDGET = Budget(steps=2_000, seconds=3600)
# Nodes of HiGHS's search tree: as many as it wants.
TREE = 2**30
# Seconds until a thread that another one waits for has never come.
PATIENCE = 300


def heaviest(problem: Problem) -> tuple[HeaviestSites, RisingBound]:
    until = time.monotonic() + BUDGET.seconds
    bound = RisingBound(problem, 0, BUDGET, until, with_highs=True)
    known = relax(problem)
    start = first_start(problem, known, until)
    return HeaviestSites(problem, known, start, bound, BUDGET.steps), bound


@st.composite
def solvable(draw: st.DrawFn, tiny: st.SearchStrategy[Problem]) -> tuple[Problem, int]:
    """A tiny cluster with wishes, its band as wide as one partition that keeps them needs, and the
    fewest moves.
    """
    problem = draw(wished(tiny))
    assume(problem.load.any())
    wide = replace(problem, tolerance=1e9)
    able = [rows for rows in placements(problem) if not score.violations(wide, rows)]
    assume(able)
    rows = able[draw(st.integers(0, len(able) - 1))]
    problem = replace(problem, tolerance=as_it_is(problem, rows))
    moves = fewest(problem)
    assert moves is not None
    return problem, moves


@st.composite
def unequal(draw: st.DrawFn) -> tuple[Problem, int]:
    """Eight sites of all sizes on three nodes, some nowhere yet. Nodes or moves may be unequal."""
    seed = draw(st.integers(0, 2**32 - 1))
    random = np.random.default_rng(seed)
    sites, nodes = 8, 3
    load = np.round(20 * random.random((sites, 2)) ** random.uniform(0.5, 4)) + 1
    everywhere = np.array(list(product(range(nodes), repeat=sites)))
    old = everywhere[random.integers(len(everywhere))]
    share = np.full(nodes, 100.0) if seed % 2 else np.array([60.0, 100.0, 140.0])
    is_there = random.random(sites) > draw(st.sampled_from([0.0, 0.3, 0.8]))
    problem = Problem(
        dimensions=DIMENSIONS,
        nodes=("n0", "n1", "n2"),
        open=np.ones(nodes, dtype=np.bool_),
        share=share,
        sites=tuple(f"s{site}" for site in range(sites)),
        replicas=np.ones(sites, dtype=np.int64),
        load=load * 100 * nodes / load.sum(axis=0),
        cold=random.integers(1, 1000, sites),
        old=np.stack([np.arange(sites), old], axis=1)[is_there],
        pinned={},
        tolerance=0.1,
        weight=random.integers(1, 4, sites) if draw(st.booleans()) else None,
    )
    wanted = everywhere[random.integers(len(everywhere))]
    rows = np.stack([np.arange(sites), wanted], axis=1)
    problem = replace(problem, tolerance=as_it_is(problem, rows))
    carried = np.stack(
        [(everywhere == n).astype(float) @ problem.load for n in range(nodes)], axis=1
    )
    away = np.abs(carried / share[:, None] - 1).max(axis=(1, 2))
    price = np.ones(sites, dtype=np.int64) if problem.weight is None else problem.weight
    moves = ((everywhere != old) | ~is_there) @ price
    return problem, int(moves[away <= problem.tolerance].min())


def as_it_is(problem: Problem, rows: Ints) -> float:
    """The narrowest band that a partition is within."""
    away = np.abs(score.deviation(problem, rows))[problem.open]
    tolerance = float(away[:, problem.load.any(axis=0)].max()) + 1e-6
    assume(tolerance < 1)
    return tolerance


@pytest.mark.slow
@settings(max_examples=times(250), suppress_health_check=[HealthCheck.filter_too_much])
@given(data=st.data(), decided=st.integers(0, 8))
def test_no_balanced_partition_has_fewer_moves_than_are_proven_however_many_sites_are_sums(
    data: st.DataObject, decided: int, tiny: st.SearchStrategy[Problem]
) -> None:
    problem, moves = data.draw(solvable(tiny) | unequal())
    search, bound = heaviest(problem)
    # No partition is known: otherwise none of more moves is said to be needed.
    search.best, search.moves, bound.moves = None, math.inf, sys.maxsize
    size = max(decided, search.first)
    search.prove(size, TREE, {size})
    assert bound.least <= moves
    assert not search.is_impossible
    search.place(decided, TREE, {decided})
    search.prove(size, TREE, {size})
    assert bound.least <= moves


@pytest.mark.slow
@settings(max_examples=times(250), suppress_health_check=[HealthCheck.filter_too_much])
@given(data=st.data(), decided=st.integers(0, 8))
def test_what_is_found_is_balanced_and_with_all_sites_decided_has_the_fewest_moves(
    data: st.DataObject, decided: int, tiny: st.SearchStrategy[Problem]
) -> None:
    problem, moves = data.draw(solvable(tiny) | unequal())
    search, bound = heaviest(problem)
    search.place(decided, TREE, {decided})
    if search.best is not None:
        assert score.violations(problem, search.best.rows) == ()
        assert score.moves(problem, search.best.rows) == bound.moves >= moves
    every = len(problem.sites)
    search.place(every, TREE, {every})
    search.prove(every, TREE, {every})
    if search.best is None:
        assert not problem.load.any(axis=1).all()
        return
    assert bound.least <= moves <= search.best.moves()
    # Sites without load are not decided.
    if problem.load.any(axis=1).all():
        assert bound.least == moves == search.best.moves()


@pytest.mark.torture("narrow-20000-4-1")
@pytest.mark.slow("narrow-20000-4-1", "drift-20000-4-1")
@pytest.mark.parametrize(
    ("kind", "sites", "nodes", "seed"),
    [("drift", 20_000, 4, 1), ("narrow", 20_000, 4, 1), ("idle", 20_000, 2, 1)],
)
def test_many_sites_on_few_nodes_move_a_few_and_so_few_are_needed(
    kind: str, sites: int, nodes: int, seed: int
) -> None:
    problem = family.cluster(sites, nodes, seed=seed, tolerance=0.03)
    if kind == "narrow":
        problem = replace(problem, tolerance=0.01)
    if kind == "idle":
        load = problem.load.copy()
        load[np.random.default_rng(seed).random(sites) < 0.9] = 0
        whole = (load * problem.replicas[:, None]).sum(axis=0)
        problem = replace(problem, load=load * 100 * nodes / whole)
    found = SOLVERS["auto"](problem, Budget(seconds=PATIENCE))
    assert found.proven
    assert score.moves(problem, found.rows) == found.bound < 20


@pytest.mark.torture("4")
@pytest.mark.slow
@pytest.mark.parametrize("nodes", [2, 4])
def test_of_many_small_sites_on_one_node_hardly_more_move_than_must(nodes: int) -> None:
    random = np.random.default_rng(nodes)
    sites = 4_000
    load = random.poisson(8, (sites, 2)) + random.random((sites, 2))
    problem = Problem(
        dimensions=DIMENSIONS,
        nodes=tuple(f"n{node}" for node in range(nodes)),
        open=np.ones(nodes, dtype=np.bool_),
        share=np.full(nodes, 100.0),
        sites=tuple(f"s{site}" for site in range(sites)),
        replicas=np.ones(sites, dtype=np.int64),
        load=load * 100 * nodes / load.sum(axis=0),
        cold=random.integers(1, 1000, sites),
        old=np.stack([np.arange(sites), np.zeros(sites, dtype=np.int64)], axis=1),
        pinned={site: frozenset({0}) for site in range(sites // nodes // 2)},
        tolerance=0.03,
    )
    found = SOLVERS["auto"](problem, Budget(steps=2_000, seconds=10))
    assert not score.violations(problem, found.rows)
    assert score.moves(problem, found.rows) < 1.01 * found.bound


def test_where_no_partition_is_balanced_time_is_no_cause() -> None:
    """Four large sites on three nodes: two of them are on one."""
    load = np.repeat([60.0, 1.0], [4, 60])[:, None] * np.ones(2)
    sites = len(load)
    problem = Problem(
        dimensions=DIMENSIONS,
        nodes=("n0", "n1", "n2"),
        open=np.ones(3, dtype=np.bool_),
        share=np.full(3, 100.0),
        sites=tuple(f"s{site}" for site in range(sites)),
        replicas=np.ones(sites, dtype=np.int64),
        load=load,
        cold=np.ones(sites, dtype=np.int64),
        old=np.stack([np.arange(sites), np.arange(sites) % 3], axis=1),
        pinned={},
        tolerance=0.05,
    )
    for solver in ("large", "exact", "auto"):
        found = SOLVERS[solver](problem, Budget(steps=2_000, seconds=10))
        assert found.note.endswith("no partition is balanced"), solver
        assert TOO_LITTLE_TIME not in found.note, solver


@pytest.mark.slow
def test_whichever_is_slower_the_answer_is_the_same(
    drifted: Drifted, monkeypatch: pytest.MonkeyPatch
) -> None:
    problem, budget = replace(drifted(20, 5, 6), tolerance=0.02), replace(BUDGET, steps=600)
    calls = list[str]()

    def place(late: str) -> object:
        decide = getattr(HeaviestSites, late)

        def later(search: HeaviestSites, *given: object) -> None:
            calls.append(late)
            time.sleep(0.1)
            decide(search, *given)

        with monkeypatch.context() as patch:
            patch.setattr(HeaviestSites, late, later)
            found = large.place(problem, budget)
        return found.rows.tolist(), found.bound, found.note

    assert place("place") == place("prove")
    assert {*calls} == {"place", "prove"}


@pytest.mark.slow
def test_a_search_ends_in_time_where_no_partition_is_balanced_at_all_hours() -> None:
    problem = hard_families.by_the_hour(2_000, 16, 1)
    begun = time.process_time()
    SOLVERS["auto"](problem, Budget(seconds=5.0))
    # On two threads; a machine that is busy gives it less.
    assert time.process_time() - begun < 2 * 5.0 + 2.0

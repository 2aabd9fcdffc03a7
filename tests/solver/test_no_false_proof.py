"""No proof is false and no bound is above the optimum, on random problems with every feature."""

from __future__ import annotations

from dataclasses import replace
from math import comb, prod

import numpy as np
import pytest

from flex.placing import score
from flex.placing.problem import DIMENSIONS, MoveLimits, Problem, sort_by_site
from flex_solver import SOLVERS
from flex_solver.bounds.priced import price_bound
from flex_solver.search import all_move_sets
from tests.solver import definition
from tests.solver.anything import anything
from tests.solver.claims import PROVING, held
from tests.solver.given import placements
from tests.thorough import times
from tests.unhurried import unhurried

# Problems in all: they take an hour of one core.
ALL = 20_000
# Problems in one test.
AT_A_TIME = 500
# One on which HiGHS itself was wrong.
SLIPPERY = 10_323
# One in which a site without load is pinned, and fewer pins would do than were said to.
IDLE_PINNED = 416
# Problems of which every placement is looked at, where there are few.
COUNTED = 300
# Placements, at most, that count as few.
FEW = 500


def idle_apart() -> Problem:
    """Two new sites, and an idle one that is to be apart from two others: it is on the node of one
    of them.
    """
    asked = np.array(
        [(5, 6), (0, 0), (9, 8), (4, 8), (5, 0), (4, 3), (8, 3), (0, 3), (8, 0), (6, 5)],
        dtype=np.float64,
    )
    old = [(0, 3), (1, 3), (3, 3), (4, 0), (6, 1), (7, 1), (8, 2), (9, 3)]
    return Problem(
        dimensions=DIMENSIONS,
        nodes=tuple(f"n{n}" for n in range(4)),
        open=np.ones(4, dtype=np.bool_),
        share=np.full(4, 100.0),
        sites=tuple(f"s{s}" for s in range(len(asked))),
        replicas=np.ones(len(asked), dtype=np.int64),
        load=asked * 400 / asked.sum(axis=0),
        cold=np.array([8, 22, 94, 94, 42, 10, 85, 23, 12, 21], dtype=np.int64),
        old=sort_by_site(np.array(old, dtype=np.int64)),
        pinned={},
        tolerance=0.5,
        barred={0: frozenset({1})},
        apart=(frozenset({1, 2, 3}),),
    )


@pytest.mark.parametrize("solver", PROVING)
def test_an_idle_site_that_moves_to_be_apart_counts_in_what_is_proven(solver: str) -> None:
    problem = idle_apart()
    found = SOLVERS[solver](problem, unhurried())
    assert definition.fewest(problem) is not None
    assert (score.moves(problem, found.rows), found.bound, found.proven) == (3, 3, True)


def test_nothing_is_said_where_an_idle_site_moved_more_often_than_its_wishes_demand() -> None:
    problem = idle_apart()
    elsewhere = [(0, 3), (1, 0), (2, 2), (3, 3), (4, 0), (5, 0), (6, 1), (7, 1), (8, 2), (9, 3)]
    rows = sort_by_site(np.array(elsewhere, dtype=np.int64))
    assert all_move_sets.fewest(problem, rows, price_bound(problem), lambda: 60.0) is None
    assert all_move_sets.coldest(problem, rows, price_bound(problem), lambda: 60.0)[1] is False


@pytest.mark.parametrize("solver", [name for name in SOLVERS if name != "cpsat"])
def test_wishes_that_contradict_each_other_within_a_bundle_are_never_proven(solver: str) -> None:
    problem, pair = idle_apart(), frozenset({4, 5})
    both = SOLVERS[solver](replace(problem, together=(pair,), apart=(pair,)), unhurried(300))
    assert not both.proven
    assert both.shortfalls[0].kind == "apart"
    assert both.note.startswith("best effort: apart: s4 and s5 on ")


def test_the_least_that_may_come_into_a_node_is_not_said_where_only_the_sum_is_known() -> None:
    """One node that takes more may be less in all than two that take less each."""
    problem = idle_apart()
    narrow = replace(problem, limits=MoveLimits(inflow=1))
    short = SOLVERS["exact"](narrow, unhurried()).shortfalls
    said = [one for each in short for one in each.instead if one.rule == "bytes into a node"]
    assert said
    assert not any(one.least for one in said)


@pytest.mark.slow
def test_the_definition_is_what_looking_at_every_placement_finds() -> None:
    looked_at = 0
    for number in range(COUNTED):
        problem = anything(number)
        opened = int(problem.open.sum())
        if prod(comb(opened, count) for count in problem.replicas.tolist()) <= FEW:
            balanced = [rows for rows in placements(problem) if not score.violations(problem, rows)]
            costs = [
                (score.moves(problem, rows), score.cold_bytes(problem, rows)) for rows in balanced
            ]
            found = definition.fewest(problem)
            assert (found and (found.moves, found.cold)) == min(costs, default=None), number
            looked_at += 1
    assert looked_at > COUNTED / 4


def test_no_claim_is_untrue_where_a_site_without_load_is_pinned() -> None:
    assert held([IDLE_PINNED]).wrong == []


def test_no_claim_is_untrue_on_the_first_hundreds() -> None:
    assert held([*range(times(150)), SLIPPERY], {"exact": 1, "large": 10, "auto": 25}).wrong == []


@pytest.mark.torture
@pytest.mark.parametrize("first", range(0, ALL, AT_A_TIME))
def test_no_claim_is_untrue_on_twenty_thousand(first: int) -> None:
    found = held(range(first, first + AT_A_TIME))
    print(dict(found.counts))
    assert found.wrong == []
    assert found.counts["feasible"] > AT_A_TIME / 2

"""What more moves would buy: true at both ends, never worse for more, and true in between."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flex.placing import score
from flex.placing.frontier import Point, frontier, keeps_wishes
from flex.placing.problem import Ints, Problem
from flex_solver import from_scratch
from flex_solver.frontier import points
from flex_solver.search import local_solver
from tests.solver.given import placements, wished
from tests.thorough import times
from tests.unhurried import unhurried

Cluster = Callable[..., Problem]
Drifted = Callable[[int, int, int], Problem]
SHORT = unhurried(20_000)


def point(problem: Problem, rows: Ints) -> Point:
    return Point(score.moves(problem, rows), score.balance(problem, rows).worst)


def near(found: Point, wanted: Point) -> bool:
    return found.moves == wanted.moves and found.worst == pytest.approx(wanted.worst)


def test_it_begins_with_what_is_in_force_and_each_further_move_buys_something(
    drifted: Drifted,
) -> None:
    problem = drifted(200, 5, 1)
    found = points(problem, SHORT)
    assert near(found[0], point(problem, problem.old))
    assert all(one.moves < two.moves and one.worst > two.worst for one, two in pairwise(found))


def test_no_placement_that_was_found_is_better_than_its_number_of_moves_can_buy(
    drifted: Drifted,
) -> None:
    problem = drifted(200, 5, 1)
    rows = [local_solver.place(problem, SHORT).rows, from_scratch.place(problem, SHORT).rows]
    found = frontier(problem, problem.old, rows)
    for wanted in (point(problem, answer) for answer in rows):
        assert min(p.worst for p in found if p.moves <= wanted.moves) <= wanted.worst + 1e-9


def test_the_way_to_a_placement_is_taken_by_the_most_useful_site_first(cluster: Cluster) -> None:
    loads = {"a": (70, 70), "b": (20, 20), "c": (10, 10), "d": (100, 100)}
    problem = cluster(loads, {"a": ["n0"], "b": ["n0"], "c": ["n0"], "d": ["n0"]})
    even = cluster(loads, {"a": ["n1"], "b": ["n1"], "c": ["n1"], "d": ["n0"]}).old
    found = frontier(problem, problem.old, [even])
    assert [(p.moves, round(p.worst, 2)) for p in found] == [(0, 1.0), (1, 0.3), (2, 0.1), (3, 0.0)]


@settings(max_examples=times(15))
@given(data=st.data())
def test_of_a_tiny_cluster_each_number_of_moves_has_the_least_imbalance_that_keeps_the_wishes(
    data: st.DataObject, tiny: st.SearchStrategy[Problem]
) -> None:
    problem = data.draw(wished(tiny))
    every = [point(problem, rows) for rows in placements(problem) if keeps_wishes(problem, rows)]
    found = points(problem, SHORT)
    for moves in {one.moves for one in every}:
        least = min(one.worst for one in every if one.moves <= moves)
        assert min(one.worst for one in found if one.moves <= moves) == pytest.approx(
            least, abs=2e-4
        )


def test_what_is_planned_is_no_worse_than_what_it_says(drifted: Drifted) -> None:
    problem = replace(
        drifted(60, 3, 1), apart=tuple(frozenset({site, site + 1}) for site in range(0, 60, 2))
    )
    planned = local_solver.place(problem, SHORT).rows
    wanted = point(problem, planned)
    assert any(
        one.moves <= wanted.moves and one.worst <= wanted.worst + 1e-9
        for one in points(problem, SHORT, [planned])
    )


def test_no_stop_on_the_way_breaks_a_wish(cluster: Cluster) -> None:
    loads = {"a": (40, 40), "b": (60, 60), "c": (50, 50), "d": (50, 50)}
    problem = cluster(loads, {"a": ["n0"], "b": ["n1"], "c": ["n0"], "d": ["n0"]})
    exchanged = cluster(loads, {"a": ["n1"], "b": ["n0"], "c": ["n0"], "d": ["n0"]}).old
    assert [one.moves for one in frontier(problem, problem.old, [exchanged])] == [0, 1]
    apart = replace(problem, apart=(frozenset({0, 1}),))
    assert [one.moves for one in frontier(apart, apart.old, [exchanged])] == [0]


def test_a_long_way_is_looked_at_in_stretches(drifted: Drifted) -> None:
    problem = drifted(3_000, 6, 1)
    rows = from_scratch.place(problem, SHORT).rows
    found = frontier(problem, problem.old, [rows])
    assert 1 < len(found) <= 65
    assert found[-1].worst <= point(problem, rows).worst + 1e-9

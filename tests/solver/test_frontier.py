"""What more moves would buy: true at both ends, never worse for more, and true in between."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import pytest

from flex import score
from flex.frontier import Point, frontier
from flex.problem import Budget, Ints, Problem
from flex_solver import local, scratch
from flex_solver.frontier import points

Cluster = Callable[..., Problem]
Drifted = Callable[[int, int, int], Problem]
SHORT = Budget(steps=20_000)


def point(problem: Problem, rows: Ints) -> Point:
    return Point(score.moves(problem, rows), score.balance(problem, rows).worst)


def near(found: Point, wanted: Point) -> bool:
    return found.moves == wanted.moves and found.worst == pytest.approx(wanted.worst)


def test_it_begins_with_what_is_in_force_and_each_further_move_buys_something(drifted: Drifted) -> None:
    problem = drifted(200, 5, 1)
    found = points(problem, SHORT)
    assert near(found[0], point(problem, problem.old))
    assert all(one.moves < two.moves and one.worst > two.worst for one, two in pairwise(found))


def test_no_placement_that_was_found_is_better_than_its_number_of_moves_can_buy(drifted: Drifted) -> None:
    problem = drifted(200, 5, 1)
    rows = [local.place(problem, SHORT).rows, scratch.place(problem, SHORT).rows]
    found = frontier(problem, problem.old, rows)
    for wanted in (point(problem, answer) for answer in rows):
        assert min(p.worst for p in found if p.moves <= wanted.moves) <= wanted.worst + 1e-9


def test_the_way_to_a_placement_is_taken_by_the_most_useful_site_first(cluster: Cluster) -> None:
    loads = {"a": (70, 70), "b": (20, 20), "c": (10, 10), "d": (100, 100)}
    problem = cluster(loads, {"a": ["n0"], "b": ["n0"], "c": ["n0"], "d": ["n0"]})
    even = cluster(loads, {"a": ["n1"], "b": ["n1"], "c": ["n1"], "d": ["n0"]}).old
    found = frontier(problem, problem.old, [even])
    assert [(p.moves, round(p.worst, 2)) for p in found] == [(0, 1.0), (1, 0.3), (2, 0.1), (3, 0.0)]


def test_a_long_way_is_looked_at_in_stretches(drifted: Drifted) -> None:
    problem = drifted(3_000, 6, 1)
    rows = scratch.place(problem, SHORT).rows
    found = frontier(problem, problem.old, [rows])
    assert 1 < len(found) <= 65
    assert found[-1].worst <= point(problem, rows).worst + 1e-9

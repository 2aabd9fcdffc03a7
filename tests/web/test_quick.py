"""Previews are there within seconds: solved as at night where that is quick, by a short search
elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from flex.frame_schemas import PLACEMENT
from flex.placing import score
from flex.placing.problem import Budget, Problem, Solution
from flex.store import MemoryStore
from flex_api.web.request_context import world
from flex_api.wishes import what_if_frontier_compare
from flex_api.wishes.quick_solver import NOTE, SECONDS, STEPS, quick
from flex_solver import SOLVERS
from tests.rest.conftest import plan
from tests.solver.conftest import drifted

if TYPE_CHECKING:
    from tests.rest.conftest import Door

__all__ = ["drifted"]

NIGHT = Budget(steps=200_000, seconds=600.0)


def test_a_small_cluster_is_solved_as_at_night_and_nobody_waits_as_long(
    drifted: Callable[[int, int, int], Problem],
) -> None:
    given: list[Budget] = []

    def of_the_night(problem: Problem, budget: Budget) -> Solution:
        given.append(budget)
        return SOLVERS["exact"](problem, budget)

    found = quick(of_the_night)(drifted(60, 4, 1), NIGHT)
    assert (given, found.solver) == ([Budget(STEPS, SECONDS)], "exact")


def test_a_large_one_is_searched_shortly_and_says_so_with_the_bound_it_knows(
    drifted: Callable[[int, int, int], Problem],
) -> None:
    problem = drifted(1_000, 8, 1)
    found = quick(SOLVERS["exact"])(problem, NIGHT)
    assert found.solver == "local"
    assert not [one for one in score.violations(problem, found.rows) if one.is_wish]
    assert 0 < found.bound <= score.moves(problem, found.rows)
    assert found.proven or found.note == NOTE


def test_two_partitions_differ_in_the_sites_whose_nodes_do(door: Door) -> None:
    store = MemoryStore()
    rows = {
        "one": [("a", "n1"), ("b", "n1"), ("b", "n2"), ("c", "n1"), ("gone", "n2")],
        "two": [("a", "n1"), ("b", "n2"), ("b", "n3"), ("c", "n2"), ("new", "n3")],
    }
    for number, placed in enumerate(rows.values(), start=1):
        sites, nodes = zip(*placed, strict=True)
        store.propose(
            plan(number, "proposed"),
            PLACEMENT.from_columns({"site": list(sites), "node": list(nodes)}),
        )
    ids = [one.id for one in store.headlines()][::-1]
    found = what_if_frontier_compare.difference(
        replace(world(door.app.state.house, store), store=store), *ids
    )
    assert [(row.site, row.one, row.other) for row in found.items] == [
        ("b", ["n1", "n2"], ["n2", "n3"]),
        ("c", ["n1"], ["n2"]),
        ("gone", ["n2"], []),
        ("new", [], ["n3"]),
    ]
    assert found.sites == 5

"""Nodes that deal with each other: most of them end in the band for few moves, and no wish is
broken for it.
"""

from __future__ import annotations

from unittest.mock import Mock

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench.solver import family
from flex.placing import score
from flex.placing.problem import Problem, sort_by_site
from flex.placing.why_best_effort import BAND
from flex_solver.bounds.priced import floor
from flex_solver.programs.site_prices import Trade
from flex_solver.search.choose_rows_to_search import make_all_movable
from flex_solver.search.one_exchange_per_node import deal_remedies
from flex_solver.search.partition_in_integers import Placed
from flex_solver.search.repair_wishes import repair_all
from tests.solver.given import wished
from tests.thorough import times


def start(problem: Problem) -> Placed:
    rows = sort_by_site(repair_all(problem))
    return make_all_movable(problem, rows)


@pytest.mark.parametrize(("seed", "more"), [(2, 0), (4, 0), (7, 0), (8, 2)])
def test_a_cluster_ends_in_the_band_with_hardly_more_moves_than_must_be(
    seed: int, more: int
) -> None:
    problem = family.cluster(600, 12, seed=seed)
    found = deal_remedies(start(problem), problem.tolerance)
    assert score.violations(problem, found.rows) == ()
    assert score.moves(problem, found.rows) <= floor(problem) + more


@settings(max_examples=times(40))
@given(data=st.data())
def test_it_breaks_no_wish_and_makes_nothing_worse(
    data: st.DataObject, tiny: st.SearchStrategy[Problem]
) -> None:
    problem = data.draw(wished(tiny))
    before = start(problem)
    after = deal_remedies(before, problem.tolerance)
    assert after.merit() <= before.merit()
    broken = [
        {one.kind for one in score.violations(problem, one.rows)} - set(BAND)
        for one in (before, after)
    ]
    assert broken[1] <= broken[0]


def test_the_same_cluster_always_deals_alike() -> None:
    first, again = (start(family.cluster(300, 8, seed=1)) for _ in range(2))
    assert deal_remedies(first, 0.05).node.tolist() == deal_remedies(again, 0.05).node.tolist()


def test_when_time_is_up_nobody_looks_for_deals(monkeypatch: pytest.MonkeyPatch) -> None:
    cheapest = Mock(return_value=([], 0))
    monkeypatch.setattr(Trade, "cheapest", cheapest)
    before = start(family.cluster(300, 8, seed=1))
    assert deal_remedies(before, 0.05, until=0.0).merit() <= before.merit()
    assert not cheapest.called

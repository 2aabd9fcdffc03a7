"""Groups of nodes that put each other right: what is said of them holds, and those that are taken go together."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from flex import score
from flex.problem import Problem
from flex_solver import highs, mending
from flex_solver.groups import NONE, groups
from flex_solver.improve import MOVE
from flex_solver.packing import packed
from flex_solver.placed import Placed, is_shut, may_be_on, movable_rows, placed
from flex_solver.start import repaired
from tests.solver.given import wished

pytestmark = pytest.mark.skipif(not highs.AVAILABLE, reason="highspy is not installed")
Drifted = Callable[[int, int, int], Problem]


def start(problem: Problem) -> Placed:
    rows = repaired(problem)
    rows = rows[np.lexsort((rows[:, 1], rows[:, 0]))]
    return placed(problem, rows, np.flatnonzero(movable_rows(problem, rows)))


def outside(found: Placed) -> list[int]:
    totals = found.totals()
    off: list[int] = np.flatnonzero(mending.outside_band(found.items, np.arange(len(totals)), totals)).tolist()
    return off


@pytest.mark.parametrize("seed", [0, 3, 7, 9])
def test_the_moves_of_a_group_bring_all_of_it_into_the_band_at_its_price(drifted: Drifted, seed: int) -> None:
    before = start(drifted(300, 8, seed))
    off, found = outside(before), groups(before)
    assert len(found)
    for nodes, items, to, cost in zip(found.nodes, found.item, found.to, found.cost, strict=True):
        node = before.node.copy()
        node[items[items != NONE]] = to[to != NONE]
        after = replace(before, node=node)
        assert set(off) - set(outside(after)) == set(off) & set(nodes.tolist())
        assert after.merit()[1] - before.merit()[1] == cost
        assert np.count_nonzero(node != before.node) == np.count_nonzero(nodes != NONE) - 1


@pytest.mark.parametrize("seed", [3, 5, 6, 9])
def test_groups_that_are_taken_share_no_node(drifted: Drifted, seed: int) -> None:
    before = start(drifted(400, 16, seed))
    after = packed(before)
    moved = np.flatnonzero(after.node != before.node)
    right = set(outside(before)) - set(outside(after))
    assert len(right) >= len(moved) > 0
    assert not set(outside(after)) - set(outside(before))
    assert round(after.merit()[1] / MOVE) == len(moved)


def test_nothing_changes_where_all_nodes_are_in_the_band(drifted: Drifted) -> None:
    calm = start(replace(drifted(100, 4, 1), tolerance=0.9))
    assert packed(calm).node.tolist() == calm.node.tolist()


@given(data=st.data())
def test_every_wish_is_kept(data: st.DataObject, tiny: st.SearchStrategy[Problem]) -> None:
    problem = data.draw(wished(tiny))
    before = start(problem)
    broken = {violation for violation in score.violations(problem, before.rows) if violation.is_wish}
    after = packed(before)
    assert {violation for violation in score.violations(problem, after.rows) if violation.is_wish} <= broken


@given(data=st.data())
def test_what_is_shut_is_where_an_item_may_not_be(data: st.DataObject, tiny: st.SearchStrategy[Problem]) -> None:
    found = start(data.draw(wished(tiny)))
    sites, nodes = range(len(found.items.price)), range(len(found.items.low))
    pairs = np.array([(site, n) for site in sites for n in nodes], dtype=np.int64).reshape(-1, 2)
    may = [may_be_on(found.items, found.node, int(site), int(n)) for site, n in pairs]
    assert [not shut for shut in is_shut(found, *pairs.T).tolist()] == may

"""The judge, rule by rule."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from flex.placing import score
from flex.placing.problem import Ints, MoveLimits, Problem, sort_by_site

Make = Callable[..., Problem]


@pytest.fixture
def asked(problem: Make) -> Problem:
    """Three equal sites, all on n1 of three nodes; they are 10 bytes each."""
    return problem(dict.fromkeys("abc", (100, 10)), dict.fromkeys("abc", "n1"), of=3)


def _rows(*pairs: tuple[int, int]) -> Ints:
    return sort_by_site(np.array(pairs, dtype=np.int64))


def _broken(problem: Problem, *pairs: tuple[int, int]) -> list[tuple[str, str, float, float]]:
    found = score.violations(problem, _rows(*pairs))
    return [(one.kind, one.subject, one.limit, one.actual) for one in found]


def test_a_balanced_placement_breaks_nothing(asked: Problem) -> None:
    assert _broken(asked, (0, 0), (1, 1), (2, 2)) == []


def test_a_site_may_not_be_where_it_is_barred(asked: Problem) -> None:
    barred = replace(asked, barred={0: frozenset({0, 1}), 2: frozenset({1})})
    assert _broken(barred, (0, 0), (1, 1), (2, 2)) == [("barred", "a on n1", 0, 1)]


def test_sites_that_are_to_be_apart_share_no_node(asked: Problem) -> None:
    apart = replace(asked, apart=(frozenset({0, 2}),))
    assert _broken(apart, (0, 0), (1, 1), (2, 2)) == []
    assert ("apart", "a and c on n2", 1, 2) in _broken(apart, (0, 1), (1, 0), (2, 1))


def test_sites_that_are_to_be_together_are_on_the_same_nodes(asked: Problem) -> None:
    together = replace(asked, together=(frozenset({0, 2}),))
    assert _broken(together, (0, 0), (1, 1), (2, 2)) == [("together", "a and c", 0, 2)]


@pytest.mark.parametrize(
    ("limits", "broken"),
    [
        (MoveLimits(), []),
        (MoveLimits(moves=2, cold_bytes=20, inflow=10), []),
        (MoveLimits(moves=1), [("moves", "the whole cluster", 1, 2)]),
        (MoveLimits(cold_bytes=19), [("cold", "the whole cluster", 19, 20)]),
        (MoveLimits(inflow=9), [("inflow", "n2", 9, 10), ("inflow", "n3", 9, 10)]),
    ],
)
def test_a_placement_moves_no_more_than_it_may(
    asked: Problem, limits: MoveLimits, broken: list[tuple[str, str, float, float]]
) -> None:
    assert _broken(replace(asked, limits=limits), (0, 0), (1, 1), (2, 2)) == broken
    assert not any(
        one.is_wish
        for one in score.violations(replace(asked, limits=limits), _rows((0, 0), (1, 1), (2, 2)))
    )


def test_no_node_is_off_in_what_nobody_asks_for(problem: Make) -> None:
    """Answers without a byte: the working set of all sites is nothing."""
    asked = problem(dict.fromkeys("abc", (100, 0)), dict.fromkeys("abc", "n1"), of=3)
    assert score.balance(asked, _rows((0, 0), (1, 1), (2, 2))).worst == 0
    apart = score.balance(asked, _rows((0, 0), (1, 0), (2, 2)))
    assert (apart.worst, apart.worst_resource) == (1.0, "access rate")
    assert [node.working_set for node in apart.nodes] == [100, 100, 100]
    assert not score.deviation(asked, _rows((0, 0), (1, 0), (2, 2)))[:, 1].any()

"""Where wishes cannot all be kept, those are named that cause it, with as much more, or less, as
would do.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np
import pytest

from flex.placing import why_best_effort
from flex.placing.problem import Problem, sort_by_site
from flex.placing.wish_conflicts import conflict

Make = Callable[..., Problem]
Nodes = Mapping[int, frozenset[int]]


def asked(problem: Make, apart: list[set[int]], barred: Nodes, pinned: Nodes) -> Problem:
    made = problem(
        dict.fromkeys("abcd", (25, 25)), {name: "n1" if name < "c" else "n2" for name in "abcd"}
    )
    return replace(
        made, apart=tuple(frozenset(group) for group in apart), barred=barred, pinned=pinned
    )


@pytest.mark.parametrize(
    ("apart", "barred", "pinned", "because", "enough", "less"),
    [
        (
            [{0, 1}, {1, 2}, {0, 2}],
            {},
            {},
            ("a and b apart", "b and c apart", "a and c apart"),
            3,
            1,
        ),
        (
            [{0, 1}, {2, 3}],
            {0: {0}, 1: {0}},
            {},
            ("a not on n1", "b not on n1", "a and b apart"),
            3,
            1,
        ),
        (
            [{0, 1}, {2, 3}],
            {1: {0}},
            {0: {1}},
            ("the pin of a to n2", "b not on n1", "a and b apart"),
            3,
            1,
        ),
        (
            [{0, 1}],
            {},
            {0: {0}, 1: {0}},
            ("the pin of a to n1", "the pin of b to n1", "a and b apart"),
            None,
            1,
        ),
        ([{0, 1, 2, 3}], {}, {}, ("a and b and c and d apart",), 4, 1),
    ],
)
def test_wishes_that_stop_each_other_are_named(
    problem: Make,
    apart: list[set[int]],
    barred: Mapping[int, set[int]],
    pinned: Mapping[int, set[int]],
    because: tuple[str, ...],
    enough: int | None,
    less: int,
) -> None:
    frozen = [{site: frozenset(of) for site, of in wishes.items()} for wishes in (barred, pinned)]
    made = asked(
        problem, [{2, 3}, *apart] if {2, 3} not in apart and len(apart) < 3 else apart, *frozen
    )
    found = conflict(made, (0, 1))
    assert found.because == because
    would_do = {one.rule: (one.enough, one.least) for one in found.instead}
    assert would_do.get("nodes") == ((float(enough), True) if enough else None)
    assert would_do["wishes taken back"] == (float(less), True)


def test_nothing_is_named_where_all_can_be_kept(problem: Make) -> None:
    assert conflict(asked(problem, [{0, 1}, {1, 2}], {}, {}), (0, 1)).because == ()


def test_sites_kept_off_a_node_are_why_it_stays_under_its_share(problem: Make) -> None:
    made = asked(problem, [], {site: frozenset({1}) for site in (0, 2, 3)}, {})
    nodes = np.array([0, 1, 0, 0])
    rows = sort_by_site(np.stack([made.old[:, 0], nodes], axis=1))
    (short,) = why_best_effort.shortfalls(replace(made, old=rows), rows)
    assert short.because == ("a not on n2", "c not on n2", "d not on n2")

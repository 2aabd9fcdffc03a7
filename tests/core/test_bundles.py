"""Sites that must stay together, as one site."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from flex.placing import score
from flex.placing.bundles import bundle_groups
from flex.placing.problem import DIMENSIONS, Ints, Problem, sort_by_site


def _rows(pairs: list[tuple[int, int]]) -> Ints:
    return sort_by_site(np.array(sorted(set(pairs)), dtype=np.int64).reshape(-1, 2))


def _problem(
    old: list[tuple[int, int]], together: list[set[int]], *, sites: int = 4, nodes: int = 3
) -> Problem:
    return Problem(
        dimensions=DIMENSIONS,
        nodes=tuple(f"n{n}" for n in range(nodes)),
        open=np.ones(nodes, dtype=np.bool_),
        share=np.full(nodes, 100.0),
        sites=tuple(f"s{s}" for s in range(sites)),
        replicas=np.ones(sites, dtype=np.int64),
        load=np.arange(2.0 * sites).reshape(sites, 2),
        cold=10 ** np.arange(sites, dtype=np.int64),
        old=_rows(old),
        pinned={},
        tolerance=0.1,
        together=tuple(frozenset(group) for group in together),
    )


@st.composite
def _grouped(draw: st.DrawFn) -> tuple[Problem, Ints]:
    """A problem with groups, and rows of its bundles."""
    sites, nodes = draw(st.integers(1, 8)), draw(st.integers(1, 4))
    at = st.tuples(st.integers(0, sites - 1), st.integers(0, nodes - 1))
    groups = (
        draw(st.lists(st.sets(st.integers(0, sites - 1), min_size=2, max_size=4), max_size=3))
        if sites > 1
        else []
    )
    problem = _problem(draw(st.lists(at, max_size=12)), groups, sites=sites, nodes=nodes)
    of = len(bundle_groups(problem).problem.sites)
    chosen = draw(
        st.lists(st.tuples(st.integers(0, of - 1), st.integers(0, nodes - 1)), max_size=8)
    )
    return problem, _rows(chosen)


@given(_grouped())
def test_rows_of_bundles_load_and_cost_what_the_rows_of_their_sites_do(
    grouped: tuple[Problem, Ints],
) -> None:
    problem, rows = grouped
    bundles = bundle_groups(problem)
    sites = bundles.rows(rows)
    assert sites.tolist() == sorted(sites.tolist())
    assert np.allclose(score.loads(problem, sites), score.loads(bundles.problem, rows))
    assert score.moves(problem, sites) == score.moves(bundles.problem, rows)
    assert score.inflow(problem, sites).tolist() == score.inflow(bundles.problem, rows).tolist()


@given(_grouped())
def test_what_is_together_in_bundles_is_together_as_sites(grouped: tuple[Problem, Ints]) -> None:
    problem, rows = grouped
    found = score.violations(problem, bundle_groups(problem).rows(rows))
    assert not [broken for broken in found if broken.kind == "together"]


def test_a_bundle_is_in_force_where_all_of_its_sites_are_and_in_part_where_some_are() -> None:
    problem = bundle_groups(_problem([(0, 0), (1, 1), (2, 0), (2, 1)], [{0, 2}])).problem
    assert problem.sites == ("s0 (with s2)", "s1", "s3")
    assert problem.old.tolist() == [[0, 0], [1, 1]]
    assert problem.partly is not None
    assert problem.partly.tolist() == [[0, 1, 1, 100]]
    assert score.moves(problem, _rows([(0, 1)])) == 1
    assert score.cold_bytes(problem, _rows([(0, 1)])) == 1


def test_groups_with_a_site_in_common_are_one() -> None:
    bundles = bundle_groups(_problem([], [{1, 2}, {2, 3}]))
    assert bundles.of.tolist() == [0, 1, 1, 1]
    assert bundles.rows(_rows([(1, 2)])).tolist() == [[1, 2], [2, 2], [3, 2]]


def test_the_wishes_for_its_members_are_the_wishes_for_a_bundle() -> None:
    asked = replace(
        _problem([], [{0, 3}]),
        pinned={3: frozenset({1})},
        barred={0: frozenset({0}), 3: frozenset({2})},
        apart=(frozenset({1, 3}),),
    )
    problem = bundle_groups(asked).problem
    assert (problem.pinned, problem.barred) == ({0: frozenset({1})}, {0: frozenset({0, 2})})
    assert problem.apart == (frozenset({0, 1}),)
    assert problem.rivals == {0: frozenset({1}), 1: frozenset({0})}


def test_without_groups_nothing_changes() -> None:
    problem = _problem([(0, 0)], [])
    assert bundle_groups(problem).problem is problem

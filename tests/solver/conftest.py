"""Small clusters by name, random ones by law, and every placement of a tiny one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import strategies as st

from flex.placing import score
from flex.placing.problem import DIMENSIONS, Ints, Problem, sort_by_site
from flex_solver import from_scratch
from tests.unhurried import unhurried

Best = tuple[float, int, int]


def _cluster(
    loads: Mapping[str, tuple[float, float]],
    old: Mapping[str, Sequence[str]],
    *,
    nodes: int = 2,
    closed: Sequence[str] = (),
    replicas: Mapping[str, int] | None = None,
    pins: Mapping[str, Sequence[str]] | None = None,
    cold: Mapping[str, int] | None = None,
    tolerance: float = 0.1,
) -> Problem:
    """Nodes n0, n1 … with a fair share of 100 each; the loads are what one replica asks."""
    sites, names = tuple(sorted(loads)), tuple(f"n{n}" for n in range(nodes))
    rows = [(sites.index(site), names.index(node)) for site, held in old.items() for node in held]
    is_open = np.array([name not in closed for name in names])
    return Problem(
        dimensions=DIMENSIONS,
        nodes=names,
        open=is_open,
        share=np.where(is_open, 100.0, 0.0),
        sites=sites,
        replicas=np.array([(replicas or {}).get(site, 1) for site in sites], dtype=np.int64),
        load=np.array([loads[site] for site in sites], dtype=np.float64).reshape(-1, 2),
        cold=np.array([(cold or {}).get(site, 0) for site in sites], dtype=np.int64),
        old=sort_by_site(np.array(rows, dtype=np.int64).reshape(-1, 2)),
        pinned={
            sites.index(site): frozenset(map(names.index, held))
            for site, held in (pins or {}).items()
        },
        tolerance=tolerance,
    )


@pytest.fixture(scope="session")
def cluster() -> Callable[..., Problem]:
    return _cluster


def _drifted(sites: int, nodes: int, seed: int) -> Problem:
    """Few large sites and many small ones, balanced yesterday, with today's loads."""
    random = np.random.default_rng(seed)
    rank = random.permutation(sites)[:, None] + 6.0
    yesterday = rank ** -random.uniform(0.6, 1.1, 2)
    empty = Problem(
        dimensions=DIMENSIONS,
        nodes=tuple(f"n{n}" for n in range(nodes)),
        open=np.ones(nodes, dtype=np.bool_),
        share=np.full(nodes, 100.0),
        sites=tuple(f"s{s:04}.example.org" for s in range(sites)),
        replicas=np.ones(sites, dtype=np.int64),
        load=yesterday * 100 * nodes / yesterday.sum(axis=0),
        cold=random.integers(1, 2**30, sites),
        old=np.zeros((0, 2), dtype=np.int64),
        pinned={},
        tolerance=0.05,
    )
    today = yesterday * np.exp(0.4 * random.standard_normal(yesterday.shape))
    return replace(
        empty,
        load=today * 100 * nodes / today.sum(axis=0),
        old=from_scratch.place(empty, unhurried()).rows,
    )


@pytest.fixture(scope="session")
def drifted() -> Callable[[int, int, int], Problem]:
    return _drifted


@st.composite
def _tiny(draw: st.DrawFn) -> Problem:
    """At most three nodes and five sites: few enough to look at every placement."""
    nodes = draw(st.integers(1, 3))
    names = [f"n{n}" for n in range(nodes)]
    closed = draw(st.lists(st.sampled_from(names), unique=True, max_size=nodes - 1))
    free = [name for name in names if name not in closed]
    sites = [f"s{s}" for s in range(draw(st.integers(0, 5)))]
    replicas = {site: draw(st.just(1) | st.integers(1, len(free))) for site in sites}
    asked = {site: draw(st.tuples(st.integers(0, 6), st.integers(0, 6))) for site in sites}
    total = [sum(replicas[site] * asked[site][d] for site in sites) or 1 for d in (0, 1)]
    pins = {
        site: draw(
            st.just([]) | st.lists(st.sampled_from(free), unique=True, max_size=replicas[site])
        )
        for site in sites
    }
    return _cluster(
        {
            site: (
                asked[site][0] * 100 * len(free) / total[0],
                asked[site][1] * 100 * len(free) / total[1],
            )
            for site in sites
        },
        {site: draw(st.lists(st.sampled_from(names), unique=True, max_size=2)) for site in sites},
        nodes=nodes,
        closed=closed,
        replicas=replicas,
        pins={site: held for site, held in pins.items() if held},
        cold={site: draw(st.integers(0, 1000)) for site in sites},
        tolerance=draw(st.sampled_from([0.02, 0.1, 0.25, 0.5])),
    )


@pytest.fixture(scope="session")
def tiny() -> st.SearchStrategy[Problem]:
    return _tiny()


def _best_of_all(problem: Problem) -> Best:
    """The best placement that keeps the wishes: how far out of the band, how many moves, how many
    cold bytes.
    """
    return min(_merit(problem, rows) for rows in _placements(problem))


def _placements(problem: Problem) -> list[Ints]:
    free = np.flatnonzero(problem.open).tolist()
    choices = [
        [
            nodes
            for nodes in combinations(free, count)
            if problem.pinned.get(site, frozenset()) <= set(nodes)
        ]
        for site, count in enumerate(problem.replicas.tolist())
    ]
    return [
        np.array([(s, n) for s, nodes in enumerate(chosen) for n in nodes], dtype=np.int64).reshape(
            -1, 2
        )
        for chosen in product(*choices)
    ]


def _merit(problem: Problem, rows: Ints) -> Best:
    broken = [violation.actual - problem.tolerance for violation in score.violations(problem, rows)]
    return (
        max(broken, default=0.0),
        len(score.new_rows(problem, rows)),
        score.cold_bytes(problem, rows),
    )


@pytest.fixture(scope="session")
def best_of_all() -> Callable[[Problem], Best]:
    return _best_of_all


@pytest.fixture(scope="session")
def merit() -> Callable[[Problem, Ints], Best]:
    return _merit

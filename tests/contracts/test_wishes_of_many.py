"""Wishes for company on clusters beyond the exact search: whoever starts by hand keeps all that can
be kept.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations
from random import Random

import numpy as np
import pytest

from flex.placing import score
from flex.placing.problem import DIMENSIONS, Budget, Ints, Problem, sort_by_site
from flex_solver import SOLVERS

# Steps end it, however slow the machine is.
SHORT = Budget(steps=300, seconds=600.0)
SITES, NODES, WISHING = 510, 4, 24
# Those that are not among them prove what they find, and take long for it.
STARTING = sorted(SOLVERS.keys() - {"exact", "cpsat"})


def wishful(seed: int) -> Problem:
    """Wishes of a few sites that one placement keeps, which is not the one in force."""
    random = Random(seed)
    replicas = np.array(
        [random.choice([1, 1, 1, 2]) for _ in range(WISHING)] + [1] * (SITES - WISHING)
    )
    kept = [frozenset(random.sample(range(NODES), count)) for count in replicas.tolist()]
    pairs = [{a, b} for a, b in combinations(range(WISHING), 2) if not kept[a] & kept[b]]
    triples = [
        a | b
        for a, b in combinations(random.sample(pairs, 12), 2)
        if len(a & b) == 1 and a ^ b in pairs
    ]
    apart = [*random.sample(pairs, 25), *triples[:4]]
    others = [frozenset(range(NODES)) - nodes for nodes in kept]
    barred = {
        s: frozenset(random.sample(sorted(others[s]), random.randint(1, len(others[s]))))
        for s in range(12)
    }
    old = {(site, random.randrange(NODES)) for site in range(SITES) if site % 7 or site >= WISHING}
    load = np.array([[random.uniform(1, 5), random.uniform(1, 5)] for _ in range(SITES)])
    return Problem(
        dimensions=DIMENSIONS,
        nodes=tuple(f"n{n}" for n in range(NODES)),
        open=np.ones(NODES, dtype=np.bool_),
        share=np.full(NODES, 100.0),
        sites=tuple(f"s{s:03}" for s in range(SITES)),
        replicas=replicas,
        load=load * 100 * NODES / (load * replicas[:, None]).sum(axis=0),
        cold=np.ones(SITES, dtype=np.int64),
        old=sort_by_site(np.array(sorted(old), dtype=np.int64)),
        pinned={
            s: frozenset(random.sample(sorted(kept[s]), 1))
            for s in random.sample(range(WISHING), 5)
        },
        tolerance=0.05,
        barred=barred,
        apart=tuple(frozenset(group) for group in apart),
    )


def broken(problem: Problem, rows: Ints) -> list[str]:
    return [str(one) for one in score.violations(problem, rows) if one.is_wish]


@pytest.mark.torture("0-large", "0-auto")
@pytest.mark.slow("2-auto", "2-large", "0-large", "0-auto")
@pytest.mark.parametrize("solver", STARTING)
@pytest.mark.parametrize("seed", range(4))
def test_wishes_that_can_be_kept_are_kept(solver: str, seed: int) -> None:
    problem = wishful(seed)
    assert broken(problem, SOLVERS[solver](problem, SHORT).rows) == []


@pytest.mark.torture("auto")
@pytest.mark.slow("large", "auto")
@pytest.mark.parametrize("solver", STARTING)
def test_where_wishes_cannot_be_kept_every_site_has_its_nodes_all_the_same(solver: str) -> None:
    problem = wishful(0)
    crowd = frozenset(range(WISHING, WISHING + NODES + 1))
    crowded = replace(problem, apart=(*problem.apart, crowd))
    rows = SOLVERS[solver](crowded, SHORT).rows
    assert np.bincount(rows[:, 0]).tolist() == problem.replicas.tolist()
    assert {one.kind for one in score.violations(crowded, rows) if one.is_wish} == {"apart"}
    assert broken(problem, rows) == []

"""Tiny clusters with wishes, and the best of all their placements."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations, product

import numpy as np
from hypothesis import strategies as st

from flex.placing import score
from flex.placing.bundles import bundle_groups
from flex.placing.problem import Ints, Problem


@st.composite
def wished(draw: st.DrawFn, tiny: st.SearchStrategy[Problem]) -> Problem:
    """A tiny cluster, some sites barred from nodes, apart from each other, or heavy because they
    are several.
    """
    problem = draw(tiny)
    sites, free = range(len(problem.sites)), np.flatnonzero(problem.open).tolist()
    barred = {site: frozenset(draw(st.sets(st.sampled_from(free), max_size=1))) for site in sites}
    pairs = [frozenset(pair) for pair in combinations(sites, 2)]
    some_pairs = st.lists(st.sampled_from(pairs), max_size=1) if pairs else st.just([])
    alike = [pair for pair in pairs if len(set(problem.replicas[list(pair)].tolist())) == 1]
    groups = draw(st.lists(st.sampled_from(alike), max_size=1)) if alike else []
    asked = replace(problem, barred=barred, apart=tuple(draw(some_pairs)), together=tuple(groups))
    return bundle_groups(asked).problem


def fewest(problem: Problem) -> int | None:
    """The moves of the best of all balanced placements; None where there is none."""
    return min(
        (
            score.moves(problem, rows)
            for rows in placements(problem)
            if not score.violations(problem, rows)
        ),
        default=None,
    )


def placements(problem: Problem) -> Iterator[Ints]:
    free = np.flatnonzero(problem.open).tolist()
    choices = [list(combinations(free, count)) for count in problem.replicas.tolist()]
    for chosen in product(*choices):
        yield np.array(
            [(s, n) for s, nodes in enumerate(chosen) for n in nodes], dtype=np.int64
        ).reshape(-1, 2)

"""How few rows any balanced placement can move.

In goes a Problem; out come numbers that no placement within the band can stay under, by counting alone:

- Wishes. A site on k nodes that has only h open ones in force needs k - h new rows; a pin that is not held is one too.
- Leaving. A node over its band must lose rows until it fits. Taking the largest first needs the fewest. Each loss is
  one move of its site, unless the site gives up rows anyway (its count shrank, or a pin pushes one out): rows of
  such sites are taken to vanish for nothing, and their sites count with their wishes alone.
- Entering. A node under its band must gain rows, at best the largest that may come to it, and each gain is a move.

A move that leaves one node may be the one that enters another, so the larger of the two counts holds, not their sum.
"""

from __future__ import annotations

import numpy as np

from flex.problem import Bools, Floats, Ints, Problem
from flex.score import ROUNDING


def least_moves(problem: Problem) -> int:
    """No balanced placement moves fewer rows. Where none exists, the number says nothing."""
    return int(max(wishes(problem).sum() + leaving(problem).sum(), entering(problem).sum()))


def wishes(problem: Problem) -> Ints:
    """For each site, the new rows that its replicas and pins alone demand, whatever the balance."""
    demanded: Ints = np.maximum(problem.replicas - _held(problem), _pins_missing(problem))
    return demanded


def leaving(problem: Problem) -> Ints:
    """For each node, the rows of `tight` sites that must leave it before it fits under its band."""
    least = np.zeros(len(problem.nodes), dtype=np.int64)
    keeps = tight(problem)
    for node, sites in rows_of_nodes(problem):
        excess = problem.load[sites[keeps[sites]]].sum(axis=0) - problem.share[node] * (1 + problem.tolerance)
        pinned = [site for site, nodes in problem.pinned.items() if node in nodes]
        free = sites[keeps[sites] & ~np.isin(sites, pinned)]
        least[node] = _cover(problem.load[free], excess, _slack(problem, node, len(sites)))
    return least


def entering(problem: Problem) -> Ints:
    """For each node, the rows that must come to it before it fills its band, even if all that are there stay."""
    least = np.zeros(len(problem.nodes), dtype=np.int64)
    carries = problem.load.sum(axis=0) > 0
    for node, sites in rows_of_nodes(problem):
        missing = problem.share[node] * (1 - problem.tolerance) - problem.load[sites].sum(axis=0)
        slack = _slack(problem, node, len(sites))
        if (missing[carries] > slack).any():
            others = np.setdiff1d(_free_to_come(problem, node), sites)
            least[node] = _cover(problem.load[others], np.where(carries, missing, 0.0), slack)
    return least


def _free_to_come(problem: Problem, node: int) -> Ints:
    """The sites that may be on a node: all but those whose every replica is pinned to others."""
    fixed = [s for s, nodes in problem.pinned.items() if node not in nodes and len(nodes) >= problem.replicas[s]]
    return np.setdiff1d(np.arange(len(problem.sites)), fixed)


def tight(problem: Problem) -> Bools:
    """The sites that lose no row unless they gain another."""
    keeps: Bools = wishes(problem) + _held(problem) == problem.replicas
    return keeps


def rows_of_nodes(problem: Problem) -> list[tuple[int, Ints]]:
    """Each open node with the sites on it."""
    return [(node, problem.old[problem.old[:, 1] == node, 0]) for node in np.flatnonzero(problem.open).tolist()]


def _held(problem: Problem) -> Ints:
    on_open = problem.old[problem.open[problem.old[:, 1]], 0]
    return np.bincount(on_open, minlength=len(problem.sites)).astype(np.int64)


def _pins_missing(problem: Problem) -> Ints:
    missing = np.zeros(len(problem.sites), dtype=np.int64)
    rows = problem.old[np.isin(problem.old[:, 0], list(problem.pinned))]
    held = set(zip(rows[:, 0].tolist(), rows[:, 1].tolist(), strict=True))
    for site, nodes in problem.pinned.items():
        missing[site] = sum((site, node) not in held for node in nodes)
    return missing


def _slack(problem: Problem, node: int, rows: int) -> float:
    """What the judge forgives, and what a sum of so many floats can be off by."""
    return float(problem.share[node] * ROUNDING * (2 + rows))


def _cover(loads: Floats, need: Floats, slack: float) -> int:
    """How many rows it takes, largest first, to make up the need in the most demanding dimension."""
    count = 0
    for dimension, wanted in enumerate(need.tolist()):
        if wanted > slack:
            sums = np.cumsum(np.sort(loads[:, dimension])[::-1])
            count = max(count, min(int(np.searchsorted(sums, wanted - slack)) + 1, len(loads)))
    return count

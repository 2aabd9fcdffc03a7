"""How few rows any balanced placement can move.

In goes a Problem; out come numbers that no placement within the band can stay under, by counting
alone:

- Wishes. A site on k nodes of which only h in force may stay needs k - h new rows; a pin that is not held is one too.
- Leaving. A node over its band must lose rows until it fits. Taking the largest first needs the fewest. Each loss is
  one move of its site, unless the site gives up rows anyway (its count shrank, or a pin pushes one out): rows of
  such sites are taken to vanish for nothing, and their sites count with their wishes alone.
- Entering. A node under its band must gain rows, at best the largest that may come to it, and each gain is a move.

A move that leaves one node may be the one that enters another, so the larger of the two counts
holds, not their sum. A new row is as many moves as its site weighs, less what is there in part
already; each is one at least. What follows from all nodes together is in relax.py, which never says
less.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from flex.placing.problem import Bools, Floats, Ints, Problem
from flex.placing.score import ROUNDING

# How many of the largest sites are looked at first for what may enter a node.
LARGEST = 1_000


def least_moves(problem: Problem) -> int:
    """No balanced placement moves fewer rows. Where none exists, the number says nothing."""
    return int(
        max(
            wishes(problem) @ prices(problem) + leaving(problem).sum(),
            entering(problem).sum(),
        )
    )


def prices(problem: Problem) -> Ints:
    """The moves that a new row of each site is at least: less where the site is in force in part."""
    least = (
        np.ones(len(problem.sites), dtype=np.int64)
        if problem.weight is None
        else problem.weight.copy()
    )
    if problem.partly is not None:
        spared = np.zeros_like(least)
        np.maximum.at(spared, problem.partly[:, 0], problem.partly[:, 2])
        least -= spared
    return least


def wishes(problem: Problem) -> Ints:
    """For each site, the new rows that its replicas and pins alone demand, whatever the balance."""
    demanded: Ints = np.maximum(
        problem.replicas - rows_that_may_stay(problem), _pins_missing(problem)
    )
    return demanded


def idle(problem: Problem) -> int:
    """How many new rows sites that ask for nothing have at least, all together, whatever becomes of
    the others.

    Each has those that its own wishes demand; and where some that are to be apart are on one node,
    all but one leave.
    """
    none: Bools = np.asarray(~problem.load.any(axis=1))
    demanded = int(wishes(problem)[none].sum())
    if not problem.apart:
        return demanded
    able = none & tight(problem)
    for _, rows in rows_of_nodes(problem):
        here = {site for site in problem.old[rows, 0].tolist() if able[site]}
        for crowd in sorted(
            (sorted(group & here) for group in problem.apart),
            key=lambda crowd: (-len(crowd), crowd),
        ):
            counted = here.intersection(crowd)
            demanded += max(0, len(counted) - 1)
            here -= counted
    return demanded


def leaving(problem: Problem) -> Ints:
    """For each node, the rows of `tight` sites that must leave it before it fits under its band."""
    least = np.zeros(len(problem.nodes), dtype=np.int64)
    keeps, stays = tight(problem), rows_among(problem, problem.old, problem.pinned)
    for node, rows in rows_of_nodes(problem):
        tight_rows = rows[keeps[problem.old[rows, 0]]]
        sites, free = (
            problem.old[tight_rows, 0],
            problem.old[tight_rows[~stays[tight_rows]], 0],
        )
        excess = problem.load[sites].sum(axis=0) - problem.share[node] * (
            1 + problem.tolerance
        )
        least[node] = _cover(
            problem.load[free], excess, slack(problem, node, len(rows))
        )
    return least


def entering(problem: Problem) -> Ints:
    """For each node, the rows that must come to it before it fills its band, even if all that are
    there stay.
    """
    least = np.zeros(len(problem.nodes), dtype=np.int64)
    carries = problem.load.sum(axis=0) > 0
    largest_first = [
        np.argsort(-problem.load[:, d], kind="stable")
        for d in range(problem.load.shape[1])
    ]
    for node, rows in rows_of_nodes(problem):
        sites = problem.old[rows, 0]
        missing = problem.share[node] * (1 - problem.tolerance) - problem.load[
            sites
        ].sum(axis=0)
        forgiven = slack(problem, node, len(rows))
        short = np.flatnonzero(carries & (missing > forgiven)).tolist()
        may_come = free_to_come(problem, node) if short else np.empty(0, dtype=np.bool_)
        for d in short:
            most = _fewest(
                problem.load[:, d], largest_first[d], may_come, missing[d] - forgiven
            )
            least[node] = max(least[node], most)
    return least


def _fewest(load: Floats, largest_first: Ints, may_come: Bools, wanted: float) -> int:
    """How many of the sites that may come make up what is wanted, the largest first."""
    for count in (LARGEST, len(load)):
        first = largest_first[:count]
        sums = np.cumsum(load[first[may_come[first]]])
        if len(sums) and sums[-1] >= wanted:
            break
    return min(int(np.searchsorted(sums, wanted)) + 1, len(sums))


def free_to_come(problem: Problem, node: int) -> Bools:
    """The sites that are not on a node and may be: all but those barred from it or pinned to others
    altogether.
    """
    may_come = np.ones(len(problem.sites), dtype=np.bool_)
    may_come[problem.old[problem.old[:, 1] == node, 0]] = False
    pinned = [
        s
        for s, nodes in problem.pinned.items()
        if node not in nodes and len(nodes) >= problem.replicas[s]
    ]
    may_come[pinned] = False
    may_come[[site for site, nodes in problem.barred.items() if node in nodes]] = False
    return may_come


def tight(problem: Problem) -> Bools:
    """The sites that lose no row unless they gain another."""
    keeps: Bools = wishes(problem) + rows_that_may_stay(problem) == problem.replicas
    return keeps


def rows_of_nodes(problem: Problem) -> list[tuple[int, Ints]]:
    """Each open node with the places of its rows in `old` that may stay."""
    staying = np.flatnonzero(may_stay(problem))
    by_node = staying[np.argsort(problem.old[staying, 1], kind="stable")]
    cuts = np.searchsorted(problem.old[by_node, 1], np.arange(len(problem.nodes) + 1))
    return [
        (node, by_node[cuts[node] : cuts[node + 1]])
        for node in np.flatnonzero(problem.open).tolist()
    ]


def rows_that_may_stay(problem: Problem) -> Ints:
    """How many rows of each site are in force and may stay."""
    staying = problem.old[may_stay(problem), 0]
    return np.bincount(staying, minlength=len(problem.sites)).astype(np.int64)


def may_stay(problem: Problem) -> Bools:
    """Which rows in force are where their sites may be."""
    able: Bools = problem.open[problem.old[:, 1]] & ~rows_among(
        problem, problem.old, problem.barred
    )
    return able


def rows_among(
    problem: Problem, rows: Ints, wishes: Mapping[int, frozenset[int]]
) -> Bools:
    """Which of the rows are wished for: those of pins, or those of bars."""
    keys = [
        site * len(problem.nodes) + node
        for site, nodes in wishes.items()
        for node in nodes
    ]
    among: Bools = np.isin(
        rows[:, 0] * len(problem.nodes) + rows[:, 1], np.array(keys, dtype=np.int64)
    )
    return among


def _pins_missing(problem: Problem) -> Ints:
    missing = np.zeros(len(problem.sites), dtype=np.int64)
    missing[list(problem.pinned)] = [len(nodes) for nodes in problem.pinned.values()]
    np.subtract.at(
        missing, problem.old[rows_among(problem, problem.old, problem.pinned), 0], 1
    )
    return missing


def slack(problem: Problem, node: int, rows: int) -> float:
    """What the judge forgives, and what a sum of so many floats can be off by."""
    return float(problem.share[node] * ROUNDING * (2 + rows))


def _cover(loads: Floats, need: Floats, forgiven: float) -> int:
    """How many rows it takes, largest first, to make up the need in the most demanding dimension."""
    count = 0
    for dimension, wanted in enumerate(need.tolist()):
        if wanted > forgiven:
            sums = np.cumsum(np.sort(loads[:, dimension])[::-1])
            count = max(
                count,
                min(int(np.searchsorted(sums, wanted - forgiven)) + 1, len(loads)),
            )
    return count

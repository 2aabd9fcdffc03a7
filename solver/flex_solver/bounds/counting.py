"""The least number of rows that any balanced partition moves, by counting alone.

Takes a Problem. Returns numbers of moves that no partition within the band can stay under. Does not
look at all nodes together: linear.py does, and its bound is never lower. Three things are counted:

- Wishes. A site on k nodes of which only h in force may stay needs k - h new rows; a pin that is
  not held is one too.
- Leaving. A node over its band must lose rows until it fits. Taking the largest first needs the
  fewest. Each loss is one move of its site, unless the site gives up rows anyway (its count shrank,
  or a pin pushes one out): rows of such sites are taken to vanish for nothing, and their sites
  count with their wishes alone.
- Entering. A node under its band must gain rows, at best the largest that may come to it, and each
  gain is a move.

A move that leaves one node may be the one that enters another, so the larger of the two counts
holds, not their sum. A new row is as many moves as its site weighs, less what is there in part
already; each is one at least. What follows from all nodes together is in linear.py, which never
says less.
"""

from __future__ import annotations

import numpy as np

from flex.placing.problem import Bools, Floats, Ints, Problem
from flex_solver.bounds.problem_arrays import slack
from flex_solver.wishes_as_row_rules import RowRules

# The largest sites that are looked at first for what may enter a node. All are looked at where
# these do not suffice, so it only saves time. A guess.
LARGEST = 1_000


def least_moves(problem: Problem) -> int:
    """No balanced partition moves fewer rows. Where none exists, the number says nothing."""
    rules = RowRules(problem)
    return int(
        max(rules.rows_demanded @ rules.prices + leaving(problem).sum(), entering(problem).sum())
    )


def idle(problem: Problem) -> int:
    """How many new rows sites that ask for nothing have at least, all together, whatever becomes of
    the others.

    Each has those that its own wishes demand; and where some that are to be apart are on one node,
    all but one leave.
    """
    none: Bools = np.asarray(~problem.load.any(axis=1))
    demanded = int(RowRules(problem).rows_demanded[none].sum())
    if not problem.apart:
        return demanded
    able = none & _tight(problem)
    for _, rows in _rows_of_nodes(problem):
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
    """For each node, the rows of `_tight` sites that must leave before it fits under its band."""
    least = np.zeros(len(problem.nodes), dtype=np.int64)
    keeps = _tight(problem)
    stays = RowRules(problem).rows_pinned
    for node, rows in _rows_of_nodes(problem):
        tight_rows = rows[keeps[problem.old[rows, 0]]]
        sites = problem.old[tight_rows, 0]
        free = problem.old[tight_rows[~stays[tight_rows]], 0]
        excess = problem.load[sites].sum(axis=0) - problem.share[node] * (1 + problem.tolerance)
        least[node] = _cover(problem.load[free], excess, slack(problem, node, len(rows)))
    return least


def entering(problem: Problem) -> Ints:
    """For each node, the rows that must come to it before it fills its band, even if all that are
    there stay.
    """
    least = np.zeros(len(problem.nodes), dtype=np.int64)
    carries = problem.load.sum(axis=0) > 0
    largest_first = [
        np.argsort(-problem.load[:, d], kind="stable") for d in range(problem.load.shape[1])
    ]
    for node, rows in _rows_of_nodes(problem):
        sites = problem.old[rows, 0]
        missing = problem.share[node] * (1 - problem.tolerance) - problem.load[sites].sum(axis=0)
        forgiven = slack(problem, node, len(rows))
        short = np.flatnonzero(carries & (missing > forgiven)).tolist()
        may_come = RowRules(problem).free_to_come(node) if short else np.empty(0, dtype=np.bool_)
        for d in short:
            most = _fewest(problem.load[:, d], largest_first[d], may_come, missing[d] - forgiven)
            least[node] = max(least[node], most)
    return least


def _tight(problem: Problem) -> Bools:
    """The sites that lose no row unless they gain another."""
    rules = RowRules(problem)
    keeps: Bools = rules.rows_demanded + rules.rows_that_may_stay == problem.replicas
    return keeps


def _rows_of_nodes(problem: Problem) -> list[tuple[int, Ints]]:
    """Each open node with the places of its rows in `old` that may stay."""
    staying = np.flatnonzero(RowRules(problem).may_stay)
    by_node = staying[np.argsort(problem.old[staying, 1], kind="stable")]
    cuts = np.searchsorted(problem.old[by_node, 1], np.arange(len(problem.nodes) + 1))
    return [
        (node, by_node[cuts[node] : cuts[node + 1]])
        for node in np.flatnonzero(problem.open).tolist()
    ]


def _fewest(load: Floats, largest_first: Ints, may_come: Bools, wanted: float) -> int:
    """How many of the sites that may come make up what is wanted, the largest first."""
    for count in (LARGEST, len(load)):
        first = largest_first[:count]
        sums = np.cumsum(load[first[may_come[first]]])
        if len(sums) and sums[-1] >= wanted:
            break
    return min(int(np.searchsorted(sums, wanted)) + 1, len(sums))


def _cover(loads: Floats, need: Floats, forgiven: float) -> int:
    """How many rows, largest first, make up the need in the dimension that takes most of them."""
    count = 0
    for dimension, wanted in enumerate(need.tolist()):
        if wanted > forgiven:
            sums = np.cumsum(np.sort(loads[:, dimension])[::-1])
            count = max(count, min(int(np.searchsorted(sums, wanted - forgiven)) + 1, len(loads)))
    return count

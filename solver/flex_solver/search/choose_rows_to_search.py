"""Chooses the rows that the searches may move: some, or all that may.

Takes a Problem, rows in order, and the reduced costs of those in force. Returns the rows in
integers with the places of the chosen ones: a few of each node, of every size. Does not leave out
new rows, rows of a small cluster, or rows of a node that a few do not bring into its band. The same
input always gives the same rows.
"""

from __future__ import annotations

import numpy as np

from flex.placing.problem import Bools, Floats, Ints, Problem
from flex_solver.bounds.linear import Relaxed
from flex_solver.search.partition_in_integers import Placed, to_integers
from flex_solver.wishes_as_row_rules import RowRules

# Rows for each node, up to which all are chosen. A guess.
SMALL = 40
# Rows of each node that the search may move, of each kind that `choose` tells apart. A guess.
OF_EACH = 4


def make_some_movable(problem: Problem, known: Relaxed, rows: Ints) -> Placed:
    """The rows in order. Searches may change those that `choose` chooses."""
    return to_integers(problem, rows, choose(problem, rows, known, OF_EACH))


def make_all_movable(problem: Problem, rows: Ints) -> Placed:
    """The rows in order. Searches may change all that ask for anything and are not pinned."""
    return to_integers(problem, rows, np.flatnonzero(movable_rows(problem, rows)))


def choose(problem: Problem, rows: Ints, relaxed: Relaxed, of_each: int) -> Ints:
    """About ten times `of_each` rows of each node: the largest by each measure, the likeliest, and
    some more.
    """
    able = movable_rows(problem, rows)
    if np.count_nonzero(able) <= SMALL * np.count_nonzero(problem.open):
        return np.flatnonzero(able)
    reduced = _reduced_costs(problem, rows, relaxed)
    wanted = able & np.isnan(reduced)
    places = np.flatnonzero(able & ~wanted)
    node = rows[places, 1]
    asks = problem.load[rows[places, 0]] / problem.share[rows[places, 1], None]
    for key in (*_sizes(asks, problem.tolerance), _arbitrary_order(rows[places]), reduced[places]):
        wanted[places[first_of_each(node, key, of_each)]] = True
    return np.flatnonzero(wanted | able & _overloading(problem, rows, wanted))


def _overloading(problem: Problem, rows: Ints, wanted: Bools) -> Bools:
    """All rows of the nodes that would be over their bands even without those that are wanted."""
    rest = rows[~wanted]
    load = np.stack(
        [
            np.bincount(rest[:, 1], demand[rest[:, 0]], len(problem.nodes))
            for demand in problem.load.T
        ]
    )
    overloading: Bools = (load.max(axis=0) > problem.share * (1 + problem.tolerance))[rows[:, 1]]
    return overloading


def first_of_each(group: Ints, key: Floats, count: int) -> Ints:
    """The places with the least keys in each group."""
    ordered = np.lexsort((key, group))
    starts = np.searchsorted(group[ordered], group[ordered])
    first: Ints = ordered[np.arange(len(ordered)) - starts < count]
    return first


def _sizes(asks: Floats, tolerance: float) -> list[Floats]:
    """The largest first, by each resource, all, and the difference of each two; then those that
    fill gaps.
    """
    largest = asks.max(axis=1)
    keys = [-asks[:, d] for d in range(asks.shape[1])] + [-asks.sum(axis=1)]
    for d in range(1, asks.shape[1]):
        keys += [asks[:, d - 1] - asks[:, d], asks[:, d] - asks[:, d - 1]]
    return keys + [np.abs(np.log(largest / (tolerance / part))) for part in (2, 8)]


def _reduced_costs(problem: Problem, rows: Ints, relaxed: Relaxed) -> Floats:
    """The reduced cost of each row in force; NaN for rows that are new."""
    nodes = len(problem.nodes)
    known = problem.old[:, 0] * nodes + problem.old[:, 1]
    keys = rows[:, 0] * nodes + rows[:, 1]
    reduced = np.full(len(rows), np.nan)
    if len(known):
        at = np.minimum(np.searchsorted(known, keys), len(known) - 1)
        reduced = np.where(known[at] == keys, relaxed.reduced[at], np.nan)
    return reduced


def _arbitrary_order(rows: Ints) -> Floats:
    """An order that has nothing to do with sizes or names."""
    mixed = (
        rows[:, 0].astype(np.uint64) << np.uint64(20) | rows[:, 1].astype(np.uint64)
    ) * np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ mixed >> np.uint64(30)) * np.uint64(0xBF58476D1CE4E5B9)
    return (mixed ^ mixed >> np.uint64(27)).astype(np.float64)


def movable_rows(problem: Problem, rows: Ints) -> Bools:
    """Rows that ask for anything and are not pinned where they are."""
    asking: Floats = problem.load[rows[:, 0]].max(axis=1)
    movable: Bools = (asking > 0) & ~RowRules(problem).rows_among(rows, problem.pinned)
    return movable

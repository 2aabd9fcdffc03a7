"""The least number of rows that bring one node into its band, whatever the other nodes do.

Takes a Problem and its ProblemArrays. Returns three numbers for each open node: rows that must
leave, rows that must enter, and rows that must do either. Does not look at two nodes together:
linear.py does, with these numbers.

Rows leave a node over its band until the excess is gone. For any mixture of the resources, what
leaves is at least the mixture of the excess, and the rows that are largest in that mixture make it
up soonest. The same holds for what enters a node under its band. A node outside its band is touched
at least once, and more often where no single change puts it right.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from flex.placing.problem import Bools, Floats, Ints, Problem
from flex_solver.bounds.problem_arrays import ProblemArrays
from flex_solver.wishes_as_row_rules import RowRules

# Mixtures of two resources that are tried, from all of one to all of the other. A guess.
MIXTURES = 17
# Resources, at most, of which each two are mixed: of more there are thousands of mixtures. A guess.
FEW_RESOURCES = 8
# The largest sites that are looked at for what may enter a node. A guess.
LARGEST = 200
# Changes of a node, at most, of which each two are looked at. A guess.
FEW_CHANGES = 3_000
# Figures of such pairs that are compared, at most: each has one of each resource. A guess.
FEW_FIGURES = 20_000_000
# What sums of loads may be off by, in shares of the largest.
INEXACT = 1e-9


@dataclass(frozen=True, slots=True, eq=False)
class RowCounts:
    """The rows that must leave each node, enter it, and do either; positions are those of the open
    nodes.
    """

    leave: Ints
    enter: Ints
    touch: Ints


@dataclass(frozen=True, slots=True, eq=False)
class NodeGap:
    """`leaves` is what each row that may leave asks; `load` must come to lie between `low` and
    `high`.
    """

    load: Floats
    low: Floats
    high: Floats
    leaves: Floats

    @property
    def is_off(self) -> bool:
        return bool(((self.load > self.high) | (self.load < self.low)).any())


def counts(problem: Problem, cluster: ProblemArrays, until: float = math.inf) -> RowCounts:
    """For each open node; a node within its band needs nothing. Pairs of rows are looked at until
    time is up.
    """
    load, low, high = cluster.load, cluster.low, cluster.high
    ordered = np.argsort(cluster.node, kind="stable")
    cuts = np.searchsorted(cluster.node[ordered], np.arange(len(load) + 1))
    sites = EnteringSites(cluster.of_site)
    row_counts = np.zeros((len(load), 3), dtype=np.int64)
    for n, number in enumerate(np.flatnonzero(problem.open).tolist()):
        leaves = cluster.asks[ordered[cuts[n] : cuts[n + 1]]]
        node = NodeGap(load[n], low[n], high[n], leaves)
        if node.is_off:
            may_come = RowRules(problem).free_to_come(number)
            row_counts[n] = (
                sites.leave(node),
                sites.enter(node, may_come),
                sites.touch(node, may_come, until),
            )
    return RowCounts(*row_counts.T)


def mixtures(dimensions: int) -> Floats:
    """Weights of the resources: each alone, and each two in steps, where these are not too many."""
    if dimensions == 1 or dimensions > FEW_RESOURCES:
        return np.eye(dimensions)
    mixes = []
    for first, second in combinations(range(dimensions), 2):
        for share in np.linspace(0, 1, MIXTURES).tolist():
            weights = [0.0] * dimensions
            weights[first], weights[second] = share, 1 - share
            mixes.append(weights)
    return np.array(mixes)


class EnteringSites:
    """The sites that may enter nodes, by size in every mixture."""

    def __init__(self, load: Floats) -> None:
        self.load = load
        self._weights = mixtures(load.shape[1])
        self._largest = [_largest(load @ weights) for weights in self._weights]
        self._by_size = [np.argsort(load[:, d], kind="stable") for d in range(load.shape[1])]
        self._sizes = [load[by_size, d] for d, by_size in enumerate(self._by_size)]

    def leave(self, node: NodeGap) -> int:
        most = 0
        for weights in self._weights:
            excess = float((node.load - node.high) @ weights)
            if excess > 0:
                sizes = np.sort(node.leaves @ weights)[::-1]
                most = max(most, int(np.searchsorted(np.cumsum(sizes), excess)) + 1)
        return most

    def enter(self, node: NodeGap, may_come: Bools) -> int:
        """Where the largest do not suffice, at least one more than those is needed."""
        most = 0
        for weights, largest in zip(self._weights, self._largest, strict=True):
            missing = float((node.low - node.load) @ weights)
            if missing > 0:
                sizes = self.load[largest[may_come[largest]]] @ weights
                most = max(most, int(np.searchsorted(np.cumsum(sizes), missing)) + 1)
        return most

    def touch(self, node: NodeGap, may_come: Bools, until: float = math.inf) -> int:
        """How many rows must leave or enter, as far as one and two are looked at."""
        if _fits(node, -node.leaves).any() or self._one_may_enter(node, may_come):
            return 1
        has_time = time.monotonic() < until
        return 3 if has_time and self._needs_three(node, may_come) else 2

    def _one_may_enter(self, node: NodeGap, may_come: Bools) -> bool:
        """Only sites that bring enough of a resource the node is short of are looked at."""
        short = np.flatnonzero(node.load < node.low)
        if not len(short):
            return False
        d = int(short[0])
        window = [node.low[d] - node.load[d], node.high[d] - node.load[d]]
        first, last = np.searchsorted(self._sizes[d], window)
        near = self._by_size[d][max(0, first - 1) : last + 1]
        return bool(_fits(node, self.load[near[may_come[near]]]).any())

    def _needs_three(self, node: NodeGap, may_come: Bools) -> bool:
        """No two changes put the node right; not looked at where there are too many. Those that
        change nothing make no difference, and there are many of them.
        """
        changes = np.concatenate([-node.leaves, self.load[may_come]])
        changes = changes[changes.any(axis=1)]
        if len(changes) > FEW_CHANGES:
            return False
        by_size, first, last = _pairs_that_may_fit(node, changes)
        if (last - first).sum() * changes.shape[1] > FEW_FIGURES:
            return False
        return not any(
            _fits(node, by_size[n] + by_size[first[n] : last[n]]).any()
            for n in np.flatnonzero(last > first).tolist()
        )


def _pairs_that_may_fit(node: NodeGap, changes: Floats) -> tuple[Floats, Ints, Ints]:
    """The changes in an order, and the places from where to where the partners of each are that
    come behind it: those that put right the resource that two changes mend least.
    """
    largest = np.abs(changes).max(axis=0, initial=0.0)
    off = np.maximum(node.low - node.load, node.load - node.high)
    d = int(np.argmax(off / np.maximum(largest, INEXACT)))
    by_size = changes[np.argsort(changes[:, d], kind="stable")]
    sizes, near = by_size[:, d], INEXACT * max(largest[d], np.abs(node.load[d]))
    first = np.searchsorted(sizes, node.low[d] - near - node.load[d] - sizes)
    last = np.searchsorted(sizes, node.high[d] + near - node.load[d] - sizes, side="right")
    first = np.maximum(first, np.arange(len(changes)) + 1)
    return by_size, first, np.maximum(first, last)


def _fits(node: NodeGap, changes: Floats) -> Bools:
    after = node.load + changes
    inside: Bools = np.all((after >= node.low) & (after <= node.high), axis=1)
    return inside


def _largest(sizes: Floats) -> Ints:
    largest: Ints = np.argsort(-sizes, kind="stable")[:LARGEST]
    return largest

"""What one move can change between two nodes.

In goes a Problem; out come places, its nodes first of all, and for each two of them the moves from one to the other. A
replica that no node holds yet is a place of its own, which its one row must leave; a row that its site no longer needs
vanishes to another place, which takes that row and nothing else. Bands are wider by what the judge and sums of floats
forgive, and wishes to be apart, limits and missing pins are left out: what cannot be done here cannot be done at all.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from flex.problem import Bools, Floats, Ints, Problem
from flex_solver import bound
from flex_solver.relax import Cluster, cluster_of

# Sums of some thousand floats are less off than this.
INEXACT = 1e-9
# Of rows that leave the same node and ask for the same, so many are looked at.
TWINS = 3


@dataclass(frozen=True, slots=True, eq=False)
class Moves:
    """Each takes `row` to another place, which then carries `change` more, or one less: the change is negative then."""

    row: Ints
    to: Ints
    change: Floats
    cold: Ints

    def __len__(self) -> int:
        return len(self.row)


@dataclass(frozen=True, slots=True, eq=False)
class Net:
    """Places carry `load`, which is to lie between `low` and `high`; the first of them are the `open_nodes`, the last,
    `vanishing` ones, take what vanishes.

    Row r is of `site[r]`, stands on the place `at[r]` and asks `asks[r]`; it may be on the places `able[r]`.
    """

    problem: Problem
    open_nodes: Ints
    load: Floats
    low: Floats
    high: Floats
    site: Ints
    at: Ints
    asks: Floats
    able: Bools
    vanishing: int

    def __len__(self) -> int:
        return len(self.load)

    @property
    def has_twins(self) -> bool:
        """Whether rows are left out, being like others on their nodes."""
        alike = np.unique(np.column_stack([self.at, self.asks]), axis=0, return_counts=True)[1]
        return bool(alike.max(initial=0) > TWINS)

    def between(self, node: int, other: int) -> Moves:
        """All moves between a place and another one; the changes are those of the other."""
        goes = self._some(np.flatnonzero((self.at == node) & self.able[:, other]))
        comes = self._some(np.flatnonzero((self.at == other) & self.able[:, node]))
        row, to = np.concatenate([goes, comes]), np.repeat([other, node], [len(goes), len(comes)])
        return Moves(
            row=row,
            to=to,
            change=np.concatenate([self.asks[goes], -self.asks[comes]]),
            cold=np.where(to < len(self.open_nodes), self.problem.cold[self.site[row]], 0),
        )

    def _some(self, rows: Ints) -> Ints:
        """Without all but a few of those that ask for the same."""
        by_asks = rows[np.lexsort((rows, self.problem.cold[self.site[rows]], *self.asks[rows].T))]
        same = np.ones(len(by_asks), dtype=np.bool_)
        same[TWINS:] = (self.asks[by_asks[TWINS:]] != self.asks[by_asks[:-TWINS]]).any(axis=1)
        return np.sort(by_asks[same])


def net(problem: Problem) -> Net:
    """Rows that ask for nothing are left out: to move them helps nobody."""
    cluster, open_nodes = cluster_of(problem), np.flatnonzero(problem.open)
    lacking = np.where(_asking(problem), problem.replicas - bound.held(problem), 0)
    missing, spare = (np.repeat(np.arange(len(lacking)), count.clip(0)) for count in (lacking, -lacking))
    free = bound.may_stay(problem) & ~bound.rows_among(problem, problem.old, problem.pinned)
    held = problem.old[free & _asking(problem)[problem.old[:, 0]]]
    site = np.concatenate([held[:, 0], missing])
    load, low, high = _edges(cluster, cluster.of_site[missing], cluster.of_site[spare])
    return Net(
        problem=problem,
        open_nodes=open_nodes,
        load=load,
        low=low - INEXACT,
        high=high + INEXACT,
        site=site,
        at=np.concatenate([np.searchsorted(open_nodes, held[:, 1]), len(open_nodes) + np.arange(len(missing))]),
        asks=cluster.of_site[site],
        able=np.concatenate(
            [
                _may_come(problem, site, open_nodes),
                np.zeros((len(site), len(missing)), dtype=np.bool_),
                (site[:, None] == spare) & (np.arange(len(site)) < len(held))[:, None],
            ],
            axis=1,
        ),
        vanishing=len(spare),
    )


def _asking(problem: Problem) -> Bools:
    asking: Bools = np.asarray(problem.load.any(axis=1))
    return asking


def _edges(cluster: Cluster, missing: Floats, spare: Floats) -> tuple[Floats, Floats, Floats]:
    """Load, least and most of every place: of nodes, of what is to come from nowhere, and of what is to vanish."""
    none, gone = np.zeros_like(missing), np.zeros_like(spare)
    return (
        np.concatenate([cluster.load, missing, gone]),
        np.concatenate([cluster.low, none, spare]),
        np.concatenate([cluster.high, none, spare]),
    )


def _may_come(problem: Problem, site: Ints, open_nodes: Ints) -> Bools:
    """Where no row of the site is in force and none is forbidden."""
    able = np.ones((len(problem.sites), len(problem.nodes)), dtype=np.bool_)
    able[problem.old[:, 0], problem.old[:, 1]] = False
    for barred, nodes in problem.barred.items():
        able[barred, list(nodes)] = False
    return able[np.ix_(site, open_nodes)]


def _key(site: Ints, node: Ints, problem: Problem) -> Ints:
    return site * len(problem.nodes) + node

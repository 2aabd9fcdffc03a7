"""What one move can change between two nodes.

Takes a Problem. Returns a Net: places, the open nodes first, and for each two of them the moves
from one to the other. A replica that no node holds yet is a place of its own, which its one row
must leave. A row that its site no longer needs vanishes to another such place, which takes that row
and nothing else. Does not look at wishes to be apart, limits or missing pins, and its bands are
wider by what the judge and sums of floats forgive: what cannot be done here cannot be done at all.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from flex.placing.problem import Bools, Floats, Ints, Problem
from flex_solver.bounds.problem_arrays import ProblemArrays, cluster_of, may_leave
from flex_solver.wishes_as_row_rules import RowRules

# What a sum of some thousand floats may be off by. A guess on the safe side.
INEXACT = 1e-9
# How many rows that leave the same node and ask for the same are told apart. A guess.
TWINS = 3


@dataclass(frozen=True, slots=True, eq=False)
class LoadChanges:
    """How the load of a place changes by moves between it and others.

    Two that have a key in common cannot be made at once: a row goes one way, and a place has one
    row of a site. Keys less than nothing are none.
    """

    change: Floats
    keys: Ints

    def __len__(self) -> int:
        return len(self.change)

    def __getitem__(self, which: Ints | Bools) -> LoadChanges:
        return LoadChanges(self.change[which], self.keys[which])


@dataclass(frozen=True, slots=True, eq=False)
class Net:
    """Places carry `load`, which is to lie between `low` and `high`; the first of them are the open
    nodes, the last, `vanishing` ones, take what vanishes.

    Row r is of `site[r]`, stands on the place `at[r]` and asks `asks[r]`; it may be on the places
    `able[r]`.
    """

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

    def moves_between(self, place: int, other: int) -> LoadChanges:
        """The moves between a place and another one; the changes are those of the other."""
        goes = self._some(np.flatnonzero((self.at == place) & self.able[:, other]), other)
        comes = self._some(np.flatnonzero((self.at == other) & self.able[:, place]), place)
        return LoadChanges(
            np.concatenate([goes.change, -comes.change]), np.concatenate([goes.keys, comes.keys])
        )

    def _some(self, rows: Ints, to: int) -> LoadChanges:
        """Where many ask for the same, one that clashes with none: another of them will do then."""
        _, first, alike, count = np.unique(
            self.asks[rows], axis=0, return_index=True, return_inverse=True, return_counts=True
        )
        keys = np.stack([rows, len(self.site) + self.site[rows] * len(self) + to], axis=1)
        few = (count <= TWINS)[alike]
        samples = first[count > TWINS]
        return LoadChanges(
            np.concatenate([self.asks[rows[few]], self.asks[rows[samples]]]),
            np.concatenate([keys[few], np.full((len(samples), 2), -1)]),
        )


def net(problem: Problem) -> Net:
    """Rows that ask for nothing are left out: to move them helps nobody."""
    cluster, open_nodes = cluster_of(problem), np.flatnonzero(problem.open)
    lacking = np.where(_asking(problem), RowRules(problem).lacking, 0)
    missing, spare = (
        np.repeat(np.arange(len(lacking)), count.clip(0)) for count in (lacking, -lacking)
    )
    free = may_leave(problem)
    held = problem.old[free & _asking(problem)[problem.old[:, 0]]]
    site = np.concatenate([held[:, 0], missing])
    load, low, high = _edges(cluster, cluster.of_site[missing], cluster.of_site[spare])
    return Net(
        load=load,
        low=low - INEXACT,
        high=high + INEXACT,
        site=site,
        at=np.concatenate(
            [np.searchsorted(open_nodes, held[:, 1]), len(open_nodes) + np.arange(len(missing))]
        ),
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


def _edges(cluster: ProblemArrays, missing: Floats, spare: Floats) -> tuple[Floats, Floats, Floats]:
    """Load, least and most of every place: of nodes, of what is to come from nowhere, and of what
    is to vanish.
    """
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

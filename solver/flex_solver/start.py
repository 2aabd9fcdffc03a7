"""The placement in force, changed as little as the wishes demand and no further: where every search begins.

In go a Problem, the sites to place and the rows that are decided already; out come rows that keep every wish.
Balance is looked at only where a row must be new anyway.
"""

from __future__ import annotations

import numpy as np

from flex.problem import Floats, Ints, Problem
from flex_solver import bound


def repair(problem: Problem, sites: Ints, decided: Ints) -> Ints:
    """Rows for the given sites: what is in force where it may stay, the rest where there is most room."""
    rows = problem.old[problem.open[problem.old[:, 1]] & np.isin(problem.old[:, 0], sites)]
    held = np.bincount(rows[:, 0], minlength=len(problem.sites))
    as_wished = (bound.wishes(problem) == 0) & (held == problem.replicas)
    stays = rows[as_wished[rows[:, 0]]]
    room = _Room(problem, np.concatenate([decided, stays]))
    changed = sites[~as_wished[sites]]
    largest_first = changed[np.lexsort((changed, -problem.load[changed].max(axis=1)))]
    nodes_of = _nodes_of(rows[~as_wished[rows[:, 0]]])
    placed = [(site, node) for site in largest_first.tolist() for node in room.take(site, nodes_of.get(site, []))]
    return np.concatenate([stays, np.array(placed, dtype=np.int64).reshape(-1, 2)])


def _nodes_of(rows: Ints) -> dict[int, list[int]]:
    found: dict[int, list[int]] = {}
    for site, node in rows.tolist():
        found.setdefault(site, []).append(node)
    return found


class _Room:
    """How full each open node is while rows are added to it."""

    def __init__(self, problem: Problem, rows: Ints) -> None:
        self._problem = problem
        self._open = np.flatnonzero(problem.open)
        self._share = problem.share[self._open, None]
        self._load: Floats = np.zeros((len(problem.nodes), len(problem.dimensions)))
        np.add.at(self._load, rows[:, 1], problem.load[rows[:, 0]])
        self._count: Ints = np.bincount(rows[:, 1], minlength=len(problem.nodes)).astype(np.int64)

    def take(self, site: int, held: list[int]) -> list[int]:
        """Nodes for all replicas of the site: its pins, then nodes that hold it, then the emptiest of the others."""
        chosen = sorted(self._problem.pinned.get(site, frozenset()))
        wanted = int(self._problem.replicas[site])
        by_room = self._by_room(site)
        for node in [node for node in by_room if node in held] + by_room:
            if len(chosen) < wanted and node not in chosen:
                chosen.append(node)
        self._load[chosen] += self._problem.load[site]
        self._count[chosen] += 1
        return chosen

    def _by_room(self, site: int) -> list[int]:
        """Open nodes by how full the site would make them; one that asks for nothing goes where the fewest are."""
        asked = self._problem.load[site]
        after = ((self._load[self._open] + asked) / self._share).max(axis=1) * bool(asked.any())
        order = np.lexsort((self._open, self._count[self._open], after))
        nodes: list[int] = self._open[order].tolist()
        return nodes

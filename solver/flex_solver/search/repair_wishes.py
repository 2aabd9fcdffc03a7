"""Changes the partition in force as little as the wishes demand: where every search begins.

Takes a Problem, the sites to place, and the rows that are decided already. Returns rows that keep
every wish. Does not balance: loads are looked at only where a row must be new anyway.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from flex.placing.problem import Floats, Ints, Problem
from flex_solver.search.separate_rivals import separate
from flex_solver.wishes_as_row_rules import RowRules


def repair_all(problem: Problem) -> Ints:
    """Rows for every site, nothing being decided."""
    return repair(problem, np.arange(len(problem.sites)), problem.old[:0])


def repair(problem: Problem, sites: Ints, decided: Ints) -> Ints:
    """Rows for the given sites: what is in force where it may stay, the rest where there is most
    room.
    """
    rules = RowRules(problem)
    rows = problem.old[rules.may_stay & np.isin(problem.old[:, 0], sites)]
    held = np.bincount(rows[:, 0], minlength=len(problem.sites))
    as_wished = (rules.rows_demanded == 0) & (held == problem.replicas)
    as_wished[_too_near(problem, rows)] = False
    stays = rows[as_wished[rows[:, 0]]]
    room = _Room(problem, np.concatenate([decided, stays]))
    nodes_of = _nodes_of(rows[~as_wished[rows[:, 0]]])
    changed = sites[~as_wished[sites]]
    placed = [
        (site, n)
        for site in _hardest_first(problem, changed)
        for n in room.take(site, nodes_of.get(site, []))
    ]
    repaired = np.concatenate([stays, np.array(placed, dtype=np.int64).reshape(-1, 2)])
    return separate(problem, sites, decided, repaired)


def _hardest_first(problem: Problem, sites: Ints) -> list[int]:
    """Sites with wishes that leave them less choice, then the largest."""
    choice = np.full(len(problem.sites), len(problem.nodes))
    for site, rivals in problem.rivals.items():
        choice[site] -= int(problem.replicas[list(rivals)].sum()) + 1
    for site, nodes in problem.barred.items():
        choice[site] -= len(nodes)
    ordered: list[int] = sites[
        np.lexsort((sites, -problem.load[sites].max(axis=1), choice[sites]))
    ].tolist()
    return ordered


def _too_near(problem: Problem, rows: Ints) -> list[int]:
    """Sites in force on a node with a rival: all of each such crowd but one, which is pinned or the
    largest.
    """
    rivals = problem.rivals
    nodes_of = _nodes_of(rows[np.isin(rows[:, 0], list(rivals))])
    stays: set[int] = set()
    for site in sorted(
        nodes_of, key=lambda s: (s not in problem.pinned, -problem.load[s].max(), s)
    ):
        if not any(set(nodes_of[site]) & set(nodes_of[rival]) for rival in rivals[site] & stays):
            stays.add(site)
    return sorted(set(nodes_of) - stays)


def _nodes_of(rows: Ints) -> dict[int, list[int]]:
    nodes: dict[int, list[int]] = {}
    for site, node in rows.tolist():
        nodes.setdefault(site, []).append(node)
    return nodes


class _Room:
    """How full each open node is while rows are added, and which rivals are on it or will be."""

    def __init__(self, problem: Problem, rows: Ints) -> None:
        self._problem, self._rivals = problem, problem.rivals
        self._open = np.flatnonzero(problem.open)
        self._at = np.zeros(len(problem.nodes), dtype=np.int64)
        self._at[self._open] = np.arange(len(self._open))
        self._share = problem.share[self._open]
        there = rows[problem.open[rows[:, 1]]]
        # One array for each dimension: a maximum of two arrays takes less than one along rows of
        # two.
        self._load: Floats = np.zeros((len(problem.dimensions), len(self._open)))
        np.add.at(self._load.T, self._at[there[:, 1]], problem.load[there[:, 0]])
        self._count: Ints = np.bincount(self._at[there[:, 1]], minlength=len(self._open)).astype(
            np.int64
        )
        self._taken = {site: set(problem.pinned.get(site, ())) for site in self._rivals}
        for site, nodes in _nodes_of(rows[np.isin(rows[:, 0], list(self._rivals))]).items():
            self._taken[site] |= set(nodes)

    def take(self, site: int, held: list[int]) -> list[int]:
        """Nodes for all replicas of the site: its pins, then nodes that hold it, then the emptiest
        of the others.
        """
        chosen = sorted(self._problem.pinned.get(site, frozenset()))
        wanted = int(self._problem.replicas[site])
        shut = self._closed_nodes(site)
        for node in self._likely(site, held, wanted):
            if len(chosen) < wanted and node not in chosen and node not in shut:
                chosen.append(node)
        places = self._at[chosen][self._problem.open[chosen]]
        self._load[:, places] += self._problem.load[site][:, None]
        self._count[places] += 1
        if site in self._taken:
            self._taken[site] |= set(chosen)
        return chosen

    def _closed_nodes(self, site: int) -> set[int]:
        shut = set(self._problem.barred.get(site, ()))
        if site not in self._rivals:
            return shut
        return shut.union(*(self._taken[rival] for rival in self._rivals.get(site, ())))

    def _likely(self, site: int, held: list[int], wanted: int) -> Iterable[int]:
        """Open nodes, those that hold the site first, each by how full the site would make it.

        Each node takes as many of the sites that ask for nothing as the next.
        """
        after = self._fullness_after(site)
        if (
            wanted == 1
            and not held
            and site not in self._problem.pinned
            and not self._closed_nodes(site)
        ):
            least = np.flatnonzero(after == after.min())
            return [
                int(self._open[least[self._count[least].argmin()] if len(least) > 1 else least[0]])
            ]
        nodes: list[int] = self._open[np.lexsort((self._open, self._count, after))].tolist()
        return [node for node in nodes if node in held] + nodes

    def _fullness_after(self, site: int) -> Floats:
        demand = self._problem.load[site].tolist()
        if not any(demand):
            return np.zeros(len(self._open))
        after: Floats = (self._load[0] + demand[0]) / self._share
        for load, more in zip(self._load[1:], demand[1:], strict=True):
            np.maximum(after, (load + more) / self._share, out=after)
        return after

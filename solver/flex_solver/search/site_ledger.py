"""Which sites are on which node, and how full each node is, while a simple rule moves them.

Takes a Problem and rows that keep every wish. Returns rows that still keep them, because nothing
moves where a wish or a limit of moves forbids it. Does not decide which move is a good one: the
caller does.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from flex.placing import score
from flex.placing.problem import Bools, Floats, Ints, Problem


class Ledger:
    """`full[n, d]` is the load of node n as a share of what is fair for it; closed nodes count as
    full to the brim.
    """

    def __init__(self, problem: Problem, rows: Ints) -> None:
        self.problem = problem
        self.scale: Floats = np.where(problem.open, problem.share, np.inf)[:, None]
        total = score.loads(problem, rows)
        self.full: Floats = np.where(problem.open[:, None], total / self.scale, np.inf)
        self._rivals = problem.rivals
        self._sites_on: list[set[int]] = [set() for _ in problem.nodes]
        self._nodes_of: dict[int, set[int]] = {}
        for site, node in rows.tolist():
            self._sites_on[node].add(site)
            self._remember(site, node)
        self._before = [
            set(problem.old[problem.old[:, 1] == n, 0].tolist()) for n in range(len(problem.nodes))
        ]
        self._spent = _Spent(problem, rows, self._before)

    def rows(self) -> Ints:
        pairs = [(site, node) for node, sites in enumerate(self._sites_on) for site in sites]
        return np.array(pairs, dtype=np.int64).reshape(-1, 2)

    def movable(self, node: int, size: Floats) -> Ints:
        """The sites of a node that may leave it and have a size: those that came to it first, then
        the largest.
        """
        pinned = self.problem.pinned
        sites = np.array(
            [s for s in self._sites_on[node] if node not in pinned.get(s, ())], dtype=np.int64
        )
        stayed = np.array([s in self._before[node] for s in sites.tolist()], dtype=np.bool_)
        order = np.lexsort((sites, -size[sites], stayed))
        return sites[order[size[sites[order]] > 0]]

    def may_take(self, site: int) -> Bools:
        """The nodes that the site may go to."""
        free = self.problem.open & self._spent.allows(site)
        free[list(self.problem.barred.get(site, ()))] = False
        for other in (site, *self._rivals.get(site, ())):
            free[list(self._nodes_of.get(other, ()))] = False
        return free

    def move(self, site: int, source: int, target: int) -> None:
        self.take(site, source)
        self.put(site, target)

    def take(self, site: int, node: int) -> None:
        self.full[node] -= self.problem.load[site] / self.scale[node]
        self._sites_on[node].remove(site)
        self._nodes_of.get(site, set()).discard(node)
        self._spent.count(site, node, -1)

    def put(self, site: int, node: int) -> None:
        self.full[node] += self.problem.load[site] / self.scale[node]
        self._sites_on[node].add(site)
        self._remember(site, node)
        self._spent.count(site, node, 1)

    def put_back(self, taken: Iterable[tuple[int, int]]) -> None:
        """Each of the (site, node it was taken from) to the node where it leaves most room, one
        after the other.
        """
        for site, home in taken:
            full = (self.full + self.problem.load[site] / self.scale).max(axis=1)
            free = self.may_take(site)
            self.put(site, int(np.where(free, full, np.inf).argmin()) if free.any() else home)

    def _remember(self, site: int, node: int) -> None:
        """Where sites are that must not meet: replicas of one, and those that are kept apart."""
        if self.problem.replicas[site] > 1 or site in self._rivals:
            self._nodes_of.setdefault(site, set()).add(node)


class _Spent:
    """What the new rows cost so far, beside what they may cost: moves and cold bytes in all, cold
    bytes by node.
    """

    def __init__(self, problem: Problem, rows: Ints, before: list[set[int]]) -> None:
        self._problem = problem
        self._before = before
        partly = () if problem.partly is None else problem.partly.tolist()
        self._spared = {(site, node): (moves, cold) for site, node, moves, cold in partly}
        self._moves = 0
        self._inflow: Ints = np.zeros(len(problem.nodes), dtype=np.int64)
        for site, node in rows.tolist() if not problem.limits.none else ():
            self.count(site, node, 1)

    def count(self, site: int, node: int, sign: int) -> None:
        moves, cold = self._cost(site, node)
        self._moves += sign * moves
        self._inflow[node] += sign * cold

    def allows(self, site: int) -> Bools:
        """The nodes for which a further row of the site is within the limits; where it is in force,
        it always is.
        """
        limits, nodes = self._problem.limits, range(len(self._problem.nodes))
        if limits.none:
            return np.ones(len(nodes), dtype=np.bool_)
        cost = np.array([self._cost(site, node) for node in nodes], dtype=np.int64)
        allowed = self._moves + cost[:, 0] <= (np.inf if limits.moves is None else limits.moves)
        allowed &= self._inflow.sum() + cost[:, 1] <= (
            np.inf if limits.cold_bytes is None else limits.cold_bytes
        )
        allowed &= self._inflow + cost[:, 1] <= (np.inf if limits.inflow is None else limits.inflow)
        within: Bools = allowed | ~cost.any(axis=1)
        return within

    def _cost(self, site: int, node: int) -> tuple[int, int]:
        if site in self._before[node]:
            return 0, 0
        moves, cold = self._spared.get((site, node), (0, 0))
        weight = 1 if self._problem.weight is None else int(self._problem.weight[site])
        return weight - moves, int(self._problem.cold[site]) - cold

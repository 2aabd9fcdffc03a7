"""The same number of moves with fewer cold bytes, by moving cheaper sites instead.

Takes a partition. Returns one with no more load outside the band and cheaper rows. Does not make
more moves. A moved item goes home, and another one, from the same node or another, goes in its
stead: the cheapest of those that leave no node worse.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, replace

import numpy as np

from flex.placing.problem import Ints, Problem
from flex_solver.search.choose_rows_to_search import movable_rows
from flex_solver.search.partition_in_integers import Placed, load_off_band
from flex_solver.search.where_items_may_be import homes_of, may_be_on

# How often all moves are gone through. A guess.
PASSES = 4
# Sites that are looked at for one move, the cheapest first, where wishes forbid some. A guess.
LIKELY = 20


def colder(problem: Problem, placed: Placed, until: float = math.inf) -> tuple[Placed, bool]:
    """The partition, and whether there was time for all of it."""
    rows = np.stack([placed.items.site, placed.open_nodes[placed.node]], axis=1)
    work = _Work(
        placed, placed.node.copy(), placed.totals(), np.flatnonzero(movable_rows(problem, rows))
    )
    is_whole = True
    for _ in range(PASSES):
        costs = work.costs()
        dearest_first = np.argsort(-costs[work.able], kind="stable")[
            : np.count_nonzero(costs[work.able])
        ]
        exchanged = 0
        for i in work.able[dearest_first].tolist():
            is_whole &= time.monotonic() < until
            exchanged += is_whole and work.exchange(i)
        if not exchanged:
            break
    return replace(placed, node=work.node), is_whole


@dataclass(slots=True, eq=False)
class _Work:
    """The `node` of each item and the nodes' `totals`, while items take each other's places."""

    placed: Placed
    node: Ints
    totals: Ints
    able: Ints

    def costs(self) -> Ints:
        return replace(self.placed, node=self.node).costs()

    def exchange(self, i: int) -> bool:
        """Whether another item is now where this one was."""
        items, t = self.placed.items, int(self.node[i])
        site = int(items.site[i])
        cost = int(self.placed.costs_at(np.array([site]), np.array([t]))[0])
        for home in homes_of(items, site):
            if cost and may_be_on(items, self.node, site, home):
                for j in self._cheaper(i, home, cost).tolist():
                    if may_be_on(items, self.node, int(items.site[j]), t):
                        self._swap(i, home, j, t)
                        return True
        return False

    def _cheaper(self, i: int, home: int, cost: int) -> Ints:
        """Items that may come in the stead of this one, the cheapest first: all of its home, some
        of others.
        """
        items, t = self.placed.items, self.node[i]
        near = self.able[self.node[self.able] == home]
        far = items.movable[self.node[items.movable] != home]
        candidates = np.concatenate([near, far[self.node[far] != t]])
        site, at = items.site[candidates], self.node[candidates]
        more = self.placed.costs_at(site, np.full(len(candidates), t)) - self.placed.costs_at(
            site, at
        )
        candidates, more = candidates[more < cost], more[more < cost]
        fits = self._fits(i, home, candidates)
        return candidates[fits][np.argsort(more[fits], kind="stable")][:LIKELY]

    def _fits(self, i: int, home: int, others: Ints) -> Ints:
        """Those whose coming leaves no more load outside the bands."""
        items, t = self.placed.items, int(self.node[i])
        own = items.load[items.site[i]]
        load = items.load[items.site[others]]
        at = self.node[others]
        at_home = (at == home)[:, None]
        more = self._outside_load(t, self.totals[t] - own + load) - self._outside_load(
            t, self.totals[t]
        )
        more += self._outside_load(
            home, self.totals[home] + own - load * at_home
        ) - self._outside_load(home, self.totals[home])
        more += np.where(
            at == home,
            0,
            self._outside_load(at, self.totals[at] - load)
            - self._outside_load(at, self.totals[at]),
        )
        fitting: Ints = np.flatnonzero(more <= 0)
        return fitting

    def _outside_load(self, nodes: Ints | int, totals: Ints) -> Ints:
        return load_off_band(self.placed.items, nodes, totals)

    def _swap(self, i: int, home: int, j: int, t: int) -> None:
        items = self.placed.items
        for item, to in ((i, home), (j, t)):
            load = items.load[items.site[item]]
            self.totals[self.node[item]] -= load
            self.totals[to] += load
            self.node[item] = to

"""A placement that moves no more than it may.

In goes a placement that keeps every wish; out comes one that also keeps the limits of moves, as far as rows may go back
to where their sites are in force: of those that help, the row goes first that puts the least load outside the band.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from flex import score
from flex.problem import Bools, Ints, MoveLimits, Problem
from flex_solver.improve import Items
from flex_solver.placed import Placed, may_be_on, outside


def limited(problem: Problem, found: Placed) -> Placed:
    if problem.limits.none:
        return found
    ledger = _Ledger(problem.limits, _costs(problem, found), found.node.copy(), len(found.items.low))
    total = found.totals()
    while ledger.is_exceeded and (back := _least_harmful(found.items, ledger, total)):
        item, home = back
        load = found.items.load[found.items.site[item]]
        total[ledger.node[item]] -= load
        total[home] += load
        ledger.take_back(item, home)
    return replace(found, node=ledger.node)


def _costs(problem: Problem, found: Placed) -> Ints:
    """The moves and cold bytes of each item where it is."""
    return score.costs(problem, np.stack([found.items.site, found.open_nodes[found.node]], axis=1))


@dataclass(slots=True, eq=False)
class _Ledger:
    """What each item costs, on which node it is, and what of that is too much."""

    limits: MoveLimits
    cost: Ints
    node: Ints
    nodes: int

    @property
    def is_exceeded(self) -> bool:
        return self._spends_too_much or bool(self._swamped.any())

    @property
    def helpful(self) -> Ints:
        """The items that cost something, of nodes where too much arrives if that is all that is wrong."""
        costing = self.cost.any(axis=1)
        helping: Ints = np.flatnonzero(costing if self._spends_too_much else costing & self._swamped[self.node])
        return helping

    def take_back(self, item: int, home: int) -> None:
        self.cost[item] = 0
        self.node[item] = home

    @property
    def _spends_too_much(self) -> bool:
        moves, cold = self.cost.sum(axis=0).tolist()
        most_moves, most_cold = self.limits.moves, self.limits.cold_bytes
        return (most_moves is not None and moves > most_moves) or (most_cold is not None and cold > most_cold)

    @property
    def _swamped(self) -> Bools:
        arriving = np.zeros(self.nodes, dtype=np.int64)
        np.add.at(arriving, self.node, self.cost[:, 1])
        most = self.limits.inflow
        swamped: Bools = arriving > most if most is not None else arriving < 0
        return swamped


def _least_harmful(items: Items, ledger: _Ledger, total: Ints) -> tuple[int, int] | None:
    """An item and the node it goes back to; None where none can."""
    best, least = None, (0, 0)
    movable = np.intersect1d(ledger.helpful, items.movable)
    for item in movable.tolist():
        site, here = int(items.site[item]), int(ledger.node[item])
        places = slice(items.first_home[site], items.first_home[site + 1])
        for home in items.home[places][items.at_home[places] == 0].tolist():
            if not may_be_on(items, ledger.node, site, home):
                continue
            after = total[[here, home]] + np.stack([-items.load[site], items.load[site]])
            harm = outside(items, [here, home], after) - outside(items, [here, home], total[[here, home]])
            if best is None or (harm, item) < least:
                best, least = (item, home), (harm, item)
    return best

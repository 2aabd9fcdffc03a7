"""Takes moves back until the limits of moves are kept.

Takes a partition that keeps every wish. Returns one that also keeps the limits of moves, as far as
that is possible by sending rows back to where their sites are in force. The row goes first that
helps and puts the least load outside the band. Where too much arrives at some nodes only, a row may
go to another node instead, once. Does not make new moves otherwise.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from flex.placing import score
from flex.placing.problem import Bools, Ints, MoveLimits, Problem
from flex_solver.search.choose_rows_to_search import movable_rows
from flex_solver.search.local_search_loop import Items
from flex_solver.search.partition_in_integers import Placed, load_off_band
from flex_solver.search.where_items_may_be import may_be_on

# Ways around, at most, for them to be looked at. A guess.
DETOURS = 100_000
NEVER = np.iinfo(np.int64).max


@dataclass(frozen=True, slots=True, eq=False)
class Ways:
    """Item `item[w]` could go to node `to[w]`."""

    item: Ints
    to: Ints

    def __getitem__(self, which: Bools) -> Ways:
        return Ways(self.item[which], self.to[which])

    def __add__(self, others: Ways) -> Ways:
        return Ways(np.concatenate([self.item, others.item]), np.concatenate([self.to, others.to]))


def limit_moves(problem: Problem, placed: Placed) -> Placed:
    if problem.limits.none:
        return placed
    rows = np.stack([placed.items.site, placed.open_nodes[placed.node]], axis=1)
    taken = np.zeros(len(rows), dtype=np.bool_)
    ledger = _Ledger(
        problem.limits, score.costs(problem, rows), placed.node.copy(), len(placed.items.low), taken
    )
    moved = np.flatnonzero(movable_rows(problem, rows) & ledger.cost.any(axis=1))
    back, around = _ways_home(placed.items, moved), _ways_around(placed, moved, problem)
    total = placed.totals()
    while ledger.is_exceeded and (
        way := _least_harmful(placed.items, ledger.helpful(back, around), ledger, total)
    ):
        item, to = way
        load = placed.items.load[placed.items.site[item]]
        total[ledger.node[item]] -= load
        total[to] += load
        row = np.array([[placed.items.site[item], placed.open_nodes[to]]])
        ledger.take(item, to, score.costs(problem, row)[0])
    return replace(placed, node=ledger.node)


@dataclass(slots=True, eq=False)
class _Ledger:
    """What each item costs, on which node it is, and what of that is too much."""

    limits: MoveLimits
    cost: Ints
    node: Ints
    nodes: int
    taken: Bools

    @property
    def is_exceeded(self) -> bool:
        return self._spends_too_much or bool(self._swamped_nodes.any())

    def helpful(self, back: Ways, around: Ways) -> Ways:
        """The ways of items that cost something, from nodes where too much arrives if that is all
        that is wrong.
        """
        costing: Bools = np.asarray(self.cost.any(axis=1))
        if self._spends_too_much:
            return back[costing[back.item]]
        costing = costing & self._swamped_nodes[self.node]
        room = self.limits.inflow or 0
        fits = self._arriving[around.to] + self.cost[around.item, 1] <= room
        return (
            back[costing[back.item]]
            + around[costing[around.item] & fits & ~self.taken[around.item]]
        )

    def take(self, item: int, to: int, cost: Ints) -> None:
        self.cost[item], self.node[item], self.taken[item] = cost, to, True

    @property
    def _spends_too_much(self) -> bool:
        moves, cold = self.cost.sum(axis=0).tolist()
        most_moves, most_cold = self.limits.moves, self.limits.cold_bytes
        return (most_moves is not None and moves > most_moves) or (
            most_cold is not None and cold > most_cold
        )

    @property
    def _arriving(self) -> Ints:
        arriving = np.zeros(self.nodes, dtype=np.int64)
        np.add.at(arriving, self.node, self.cost[:, 1])
        return arriving

    @property
    def _swamped_nodes(self) -> Bools:
        most = self.limits.inflow
        swamped: Bools = self._arriving > (NEVER if most is None else most)
        return swamped


def _ways_home(items: Items, moved: Ints) -> Ways:
    """Each item with each node where its site is in force."""
    first = items.first_home[items.site[moved]]
    last = items.first_home[items.site[moved] + 1]
    count = last - first
    place = (
        np.repeat(first, count)
        + np.arange(count.sum())
        - np.repeat(np.cumsum(count) - count, count)
    )
    whole = items.at_home[place] == 0
    return Ways(np.repeat(moved, count)[whole], items.home[place[whole]])


def _ways_around(placed: Placed, moved: Ints, problem: Problem) -> Ways:
    """Each item with every other node."""
    nodes = len(placed.items.low)
    if problem.limits.inflow is None or len(moved) * nodes > DETOURS:
        return Ways(moved[:0], moved[:0])
    item, to = np.repeat(moved, nodes), np.tile(np.arange(nodes), len(moved))
    return Ways(item, to)[placed.node[item] != to]


def _least_harmful(
    items: Items, ways: Ways, ledger: _Ledger, total: Ints
) -> tuple[int, int] | None:
    """An item and the node it goes to; None where none can."""
    item, to = ways.item, ways.to
    here, load = ledger.node[item], items.load[items.site[item]]
    harm = load_off_band(items, here, total[here] - load) - load_off_band(items, here, total[here])
    harm += load_off_band(items, to, total[to] + load) - load_off_band(items, to, total[to])
    for way in np.argsort(harm, kind="stable").tolist():
        if may_be_on(items, ledger.node, int(items.site[item[way]]), int(to[way])):
            return int(item[way]), int(to[way])
    return None

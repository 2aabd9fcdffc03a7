"""Few moves for clusters of any size: repair what must be repaired, then search around the placement in force.

In goes a Problem; out comes a placement that keeps every wish, is as near to the band as was found, and of those the
one with the fewest moves. Equal input gives equal output, as long as the budget's seconds are not used up.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np

from flex.problem import Budget, Ints, Problem, Solution
from flex.score import ROUNDING
from flex_solver import improve
from flex_solver.answer import answer
from flex_solver.start import repair

# The search is cut into parts between which the clock is looked at; each starts from the best so far, a little cooler.
ROUNDS = 8
HEATS = 32
PRICE_LEVELS = 2**20


@dataclass(frozen=True, slots=True, eq=False)
class _Items:
    """One item for each replica, in the order of sites; nodes are numbered among the open ones."""

    open_nodes: Ints
    site: Ints
    load: Ints
    low: Ints
    high: Ints
    first_item: Ints
    first_held: Ints
    held: Ints
    price: Ints
    movable: Ints

    def rows(self, node: Ints) -> Ints:
        rows: Ints = np.stack([self.site, self.open_nodes[node]], axis=1)
        return rows


def place(problem: Problem, budget: Budget) -> Solution:
    until = time.monotonic() + budget.seconds
    sites = np.arange(len(problem.sites))
    rows = repair(problem, sites, problem.old[:0])
    rows = rows[np.lexsort((rows[:, 1], rows[:, 0]))]
    items = _items(problem, rows)
    node = np.searchsorted(items.open_nodes, rows[:, 1])
    note = ""
    for part in range(ROUNDS):
        if time.monotonic() > until:
            note = f"stopped after {part} of {ROUNDS} parts: out of time"
            break
        node = _search(items, node, budget.steps // ROUNDS, part)
    return answer(problem, items.rows(node), "local", note=note)


def _search(items: _Items, node: Ints, steps: int, part: int) -> Ints:
    return improve.improve(
        node,
        items.site,
        items.load,
        items.low,
        items.high,
        items.first_item,
        items.first_held,
        items.held,
        items.price,
        items.movable,
        _heats(part),
        _chances(),
        steps,
        part,
    )


def _heats(part: int) -> Ints:
    hottest = improve.MOVE // (part + 1)
    heats: Ints = np.geomspace(hottest, hottest / 32, HEATS).astype(np.int64)
    return heats


def _chances() -> Ints:
    even = (np.arange(improve.CHANCES) + 0.5) / improve.CHANCES
    chances: Ints = np.rint(-np.log(even) * improve.UNIT).astype(np.int64)
    return chances


def _items(problem: Problem, rows: Ints) -> _Items:
    open_nodes = np.flatnonzero(problem.open)
    unit = improve.SHARE / 100.0
    share = problem.share[open_nodes, None] * np.ones(len(problem.dimensions))
    forgiven = ROUNDING / 2
    carries = problem.load.sum(axis=0) > 0
    low = np.where(carries, np.ceil(share * (1 - problem.tolerance - forgiven) * unit), 0)
    old = problem.old[problem.open[problem.old[:, 1]]]
    sites = np.arange(len(problem.sites) + 1)
    return _Items(
        open_nodes=open_nodes,
        site=np.ascontiguousarray(rows[:, 0]),
        load=np.rint(problem.load * unit).astype(np.int64),
        low=low.astype(np.int64),
        high=np.floor(share * (1 + problem.tolerance + forgiven) * unit).astype(np.int64),
        first_item=np.searchsorted(rows[:, 0], sites),
        first_held=np.searchsorted(old[:, 0], sites),
        held=np.searchsorted(open_nodes, old[:, 1]),
        price=problem.cold * PRICE_LEVELS // max(1, int(problem.cold.max(initial=1))),
        movable=_movable(problem, rows),
    )


def _movable(problem: Problem, rows: Ints) -> Ints:
    """Items that ask for anything and are not pinned where they are, largest first."""
    pinned = np.array([node in problem.pinned.get(site, ()) for site, node in rows.tolist()], dtype=np.bool_)
    size = problem.load[rows[:, 0]].max(axis=1)
    free = np.flatnonzero((size > 0) & ~pinned)
    order: Ints = free[np.lexsort((free, -size[free]))]
    return order

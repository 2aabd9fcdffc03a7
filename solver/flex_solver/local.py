"""Few moves for clusters of any size: repair what must be repaired, then search around the placement in force.

In goes a Problem; out comes a placement that keeps every wish, is as near to the band as was found, and of those the
one with the fewest moves. Equal input gives equal output, as long as the budget's seconds are not used up.
"""

from __future__ import annotations

import time

import numpy as np

from flex.problem import Budget, Ints, Problem, Solution, in_order
from flex.score import ROUNDING
from flex_solver.answer import answer
from flex_solver.improve import CHANCES, MOVE, SHARE, UNIT, Items, improve
from flex_solver.start import repair

# The search is cut into parts between which the clock is looked at; each starts from the best so far, a little cooler.
PARTS = 8
# Within a part the heat sinks in so many steps to so small a share of its start.
HEATS, COOLEST = 32, 1 / 32
# The dearest site's cold bytes in a move's price, where MOVE is 2**29: they decide between plans with as many moves.
DEAREST = 2**20


def place(problem: Problem, budget: Budget) -> Solution:
    until = time.monotonic() + budget.seconds
    nothing = problem.old[:0]
    rows = in_order(repair(problem, np.arange(len(problem.sites)), nothing))
    open_nodes = np.flatnonzero(problem.open)
    items, node = _items(problem, rows, open_nodes), np.searchsorted(open_nodes, rows[:, 1])
    note = ""
    for part in range(PARTS):
        if time.monotonic() >= until:
            note = f"out of time after {part} of {PARTS} parts of the search: another run may differ"
            break
        node = improve(items, node, _heats(part), _chances(), budget.steps // PARTS, part)
    best = np.stack([items.site, open_nodes[_polished(items, node)]], axis=1)
    return answer(problem, best, "local", note=note)


def _heats(part: int) -> Ints:
    hottest = MOVE / 2 / (part + 1)
    heats: Ints = np.geomspace(hottest, hottest * COOLEST, HEATS).astype(np.int64)
    return heats


def _chances() -> Ints:
    even = (np.arange(CHANCES) + 0.5) / CHANCES
    chances: Ints = np.rint(-np.log(even) * UNIT).astype(np.int64)
    return chances


def _items(problem: Problem, rows: Ints, open_nodes: Ints) -> Items:
    """The problem in integers; nodes are numbered among the open ones."""
    unit = SHARE / 100
    share = problem.share[open_nodes, None] * np.ones(len(problem.dimensions)) * unit
    # Half of what the judge forgives, since the loads are rounded to whole units as well.
    tolerance = problem.tolerance + ROUNDING / 2
    carries = problem.load.sum(axis=0) > 0
    old = problem.old[problem.open[problem.old[:, 1]]]
    starts = np.arange(len(problem.sites) + 1)
    return Items(
        site=np.ascontiguousarray(rows[:, 0]),
        load=np.rint(problem.load * unit).astype(np.int64),
        low=np.ceil(share * (1 - tolerance) * carries).astype(np.int64),
        high=np.floor(share * (1 + tolerance)).astype(np.int64),
        first_item=np.searchsorted(rows[:, 0], starts),
        first_held=np.searchsorted(old[:, 0], starts),
        held=np.searchsorted(open_nodes, old[:, 1]),
        price=(problem.cold / max(1, int(problem.cold.max(initial=0))) * DEAREST).astype(np.int64),
        movable=_movable(problem, rows),
    )


def _movable(problem: Problem, rows: Ints) -> Ints:
    """Items that ask for anything and are not pinned where they are, largest first."""
    pinned = {(site, node) for site, nodes in problem.pinned.items() for node in nodes}
    size = problem.load[rows[:, 0]].max(axis=1)
    asking = np.flatnonzero(size > 0)
    free = np.array([i for i in asking.tolist() if (rows[i, 0], rows[i, 1]) not in pinned], dtype=np.int64)
    largest_first: Ints = free[np.lexsort((free, -size[free]))]
    return largest_first


def _polished(items: Items, node: Ints) -> Ints:
    """Without the moves that the band does not need, the dearest given up first."""
    node = node.copy()
    total = np.zeros_like(items.low)
    np.add.at(total, node, items.load[items.site])
    while any(_goes_home(items, node, total, i) for i in _new_ones(items, node)):
        pass
    return node


def _new_ones(items: Items, node: Ints) -> list[int]:
    """Movable items on nodes where their sites were not, though those had others; the dearest first."""
    sites, homes = len(items.price), np.diff(items.first_held)
    in_force = np.repeat(np.arange(sites), homes) + sites * items.held
    candidates = items.movable[homes[items.site[items.movable]] > 0]
    new = candidates[~np.isin(items.site[candidates] + sites * node[candidates], in_force)]
    dearest_first: list[int] = new[np.lexsort((new, -items.price[items.site[new]]))].tolist()
    return dearest_first


def _goes_home(items: Items, node: Ints, total: Ints, i: int) -> bool:
    """Put the item back where its site was, if that leaves no more load outside the band; whether it did."""
    site, here = int(items.site[i]), int(node[i])
    homes = items.held[items.first_held[site] : items.first_held[site + 1]]
    for home in np.setdiff1d(homes, node[items.first_item[site] : items.first_item[site + 1]]).tolist():
        both = [here, home]
        after = total[both] + np.stack([-items.load[site], items.load[site]])
        if _off(items, both, after) <= _off(items, both, total[both]):
            total[both], node[i] = after, home
            return True
    return False


def _off(items: Items, nodes: list[int], total: Ints) -> int:
    outside = np.maximum(np.maximum(total - items.high[nodes], items.low[nodes] - total), 0)
    return int(outside.sum())

"""Solves a few nodes exactly: which of their movable items should be on which of them.

Takes a partition and some nodes. Returns the partition with fewest moves among those items while
the nodes are in the band, or None where that is no better. Does not touch items of other nodes, nor
items that may not move.

The program counts moves alone. It is also told what one_node.py counts from where all items are at
home: how many must leave each node outside the band, enter it, or do either.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace

import numpy as np

from flex.placing.problem import Bools, Floats, Ints
from flex_solver.bounds import one_node
from flex_solver.programs import highs_integer
from flex_solver.programs.highs_program import Program
from flex_solver.search.local_search_loop import MOVE, SHARE, Items
from flex_solver.search.partition_in_integers import Placed
from flex_solver.search.where_items_may_be import company

# A mean node's share in the program. HiGHS forgives 1e-6 of one unit, which is 1e-9 of a share
# then: what the judge forgives.
UNIT = 1_000.0
# What the program keeps clear of each edge of a band, in its units: twice what HiGHS forgives.
CLEAR = 2e-6
# Nodes of HiGHS's search tree for one block. A guess.
TREE = 50
# Items times nodes, at most: with some ten thousand HiGHS takes minutes between two looks at the
# clock. A guess.
MOST_CELLS = 10_000


@dataclass(frozen=True, slots=True, eq=False)
class _Block:
    """`items` are those that may be placed anew on `nodes`; all else is known by its place among
    these two.

    Item i is on node `at[i]`, asks `asks[i]`, costs `cost[i, n]` moves on node n and may not be
    where `barred[i, n]`. `rest` is what the nodes carry beside the items. One item at
    most of each crowd may be on a node.
    """

    nodes: Ints
    items: Ints
    at: Ints
    asks: Floats
    cost: Floats
    barred: Bools
    rest: Floats
    low: Floats
    high: Floats
    crowds: list[list[int]]


def solve_block(placed: Placed, totals: Ints, nodes: Ints, until: float) -> Placed | None:
    """`totals` are the loads of all nodes."""
    block = _block(placed, totals, nodes)
    if not 0 < block.cost.size <= MOST_CELLS:
        return None
    optimum = highs_integer.whole_minimum(
        _program(block), _as_it_is(block).ravel(), TREE, until - time.monotonic()
    )
    if optimum is None:
        return None
    at = optimum.values.reshape(-1, len(nodes)).argmax(axis=1)
    if _is_outside(block, at) or (
        not _is_outside(block, block.at) and _moves(block, at) >= _moves(block, block.at)
    ):
        return None
    node = placed.node.copy()
    node[block.items] = nodes[at]
    return replace(placed, node=node)


def _block(placed: Placed, totals: Ints, nodes: Ints) -> _Block:
    items = placed.items
    place = np.full(len(items.low), -1)
    place[nodes] = np.arange(len(nodes))
    movable = np.sort(items.movable)
    chosen = movable[place[placed.node[movable]] >= 0]
    asks, load, low, high = (
        ints.astype(np.float64) * (UNIT / SHARE)
        for ints in (
            items.load[items.site[chosen]],
            totals[nodes],
            items.low[nodes],
            items.high[nodes],
        )
    )
    at = place[placed.node[chosen]]
    np.subtract.at(load, at, asks)
    grid = np.repeat(items.site[chosen], len(nodes)), np.tile(nodes, len(chosen))
    cost = placed.costs_at(*grid).reshape(-1, len(nodes))
    return _Block(
        nodes=nodes,
        items=chosen,
        at=at,
        asks=asks,
        cost=np.floor(cost / MOVE + 0.5),
        barred=_barred_nodes(placed, chosen, nodes),
        rest=load,
        low=low + CLEAR,
        high=high - CLEAR,
        crowds=_crowds(items, chosen),
    )


def _barred_nodes(placed: Placed, chosen: Ints, nodes: Ints) -> Bools:
    """Where the wishes let no item be, and where items that stay keep others of their sites and
    rivals away.
    """
    items, may_move = placed.items, set(chosen.tolist())
    place = {node: n for n, node in enumerate(nodes.tolist())}
    barred = np.zeros((len(chosen), len(nodes)), dtype=np.bool_)
    for i in _special(items, chosen):
        site = int(items.site[chosen[i]])
        taken = [int(placed.node[j]) for j in company(items, site) if j not in may_move]
        away = items.barred[items.first_barred[site] : items.first_barred[site + 1]].tolist()
        barred[i, [place[node] for node in (*taken, *away) if node in place]] = True
    return barred


def _special(items: Items, chosen: Ints) -> list[int]:
    """The items that are not free to be anywhere beside anything."""
    sites = items.site[chosen]
    firsts = (items.first_barred, items.first_rival)
    wished = np.any([first[sites + 1] > first[sites] for first in firsts], axis=0)
    special: list[int] = np.flatnonzero(
        wished | (items.first_item[sites + 1] > items.first_item[sites] + 1)
    ).tolist()
    return special


def _crowds(items: Items, chosen: Ints) -> list[list[int]]:
    place = {i: n for n, i in enumerate(chosen.tolist())}
    pairs = set()
    for i in _special(items, chosen):
        for j in company(items, int(items.site[chosen[i]])):
            if j in place and place[j] != i:
                pairs.add((min(i, place[j]), max(i, place[j])))
    return [list(pair) for pair in sorted(pairs)]


def _moves(block: _Block, at: Ints) -> int:
    return round(float(block.cost[np.arange(len(at)), at].sum()))


def _is_outside(block: _Block, at: Ints) -> bool:
    load = block.rest.copy()
    np.add.at(load, at, block.asks)
    return bool(((load < block.low - CLEAR) | (load > block.high + CLEAR)).any())


def _as_it_is(block: _Block) -> Floats:
    values = np.zeros(block.cost.shape)
    values[np.arange(len(block.at)), block.at] = 1.0
    return values


def _program(block: _Block) -> Program:
    """Columns: each item on each node."""
    (count, nodes), dimensions = block.cost.shape, block.asks.shape[1]
    floors, pairs = _floors(block), np.ones(len(block.crowds) * nodes)
    program = Program(
        cost=block.cost.ravel(),
        lower=np.zeros(count * nodes),
        upper=np.where(block.barred, 0.0, 1.0).ravel(),
        row_lower=np.concatenate(
            [np.ones(count), (block.low - block.rest).ravel(), 0.0 * pairs, floors]
        ),
        row_upper=np.concatenate(
            [np.ones(count), (block.high - block.rest).ravel(), pairs, np.full(3 * nodes, np.inf)]
        ),
        whole=np.ones(count * nodes, dtype=np.bool_),
    )
    cell = np.arange(count * nodes)
    item, node = np.divmod(cell, nodes)
    program.add(item, cell, 1.0)
    for d in range(dimensions):
        program.add(count + node * dimensions + d, cell, block.asks[item, d])
    first = count + nodes * dimensions
    for n, crowd in enumerate(block.crowds):
        for i in crowd:
            program.add(first + n * nodes + np.arange(nodes), i * nodes + np.arange(nodes), 1.0)
    _add_floors(program, block, first + len(pairs))
    return program


def _add_floors(program: Program, block: _Block, first: int) -> None:
    """Leaving, entering, and both. An item at home on a node leaves unless its cell there is 1."""
    count, nodes = block.cost.shape
    item, node = np.divmod(np.arange(count * nodes), nodes)
    stays = _home(block)[item] == node
    cell, other = np.flatnonzero(stays), np.flatnonzero(~stays)
    program.add(first + node[cell], cell, -1.0)
    program.add(first + nodes + node[other], other, 1.0)
    program.add(first + 2 * nodes + node[cell], cell, -1.0)
    program.add(first + 2 * nodes + node[other], other, 1.0)


def _floors(block: _Block) -> Floats:
    """The least of each sum of _add_floors: what one_node.py counts, less the items that are at
    home.
    """
    home, nodes = _home(block), len(block.nodes)
    kept = np.bincount(home[home >= 0], minlength=nodes)
    load = block.rest.copy()
    np.add.at(load, home[home >= 0], block.asks[home >= 0])
    sites = one_node.EnteringSites(block.asks)
    counts = np.zeros((3, nodes), dtype=np.int64)
    for n in range(nodes):
        node = one_node.NodeGap(
            load[n], block.low[n] - CLEAR, block.high[n] + CLEAR, block.asks[home == n]
        )
        if node.is_off:
            others = home != n
            counts[:, n] = (sites.leave(node), sites.enter(node, others), sites.touch(node, others))
    floors: Floats = np.concatenate([counts[0] - kept, counts[1], counts[2] - kept]).astype(
        np.float64
    )
    return floors


def _home(block: _Block) -> Ints:
    """The node where each item costs nothing, the one it is on before others; -1 where there is
    none.
    """
    free = block.cost == 0
    here = free[np.arange(len(block.at)), block.at]
    home: Ints = np.where(here, block.at, np.where(free.any(axis=1), free.argmax(axis=1), -1))
    return home

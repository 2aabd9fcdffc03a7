"""Lets nodes put each other right by one exchange of rows for each node.

Takes a partition and the tolerance. Returns a partition that is no worse and keeps the same wishes.
Does not go on after one remedy for each node: large.py calls it again.

site_prices.py finds deals, which are remedies of one node at market prices. An integer program then
chooses one deal for each node outside the band, and at most one for each other node, so that all
together need the fewest moves. A node that is left as it is costs some more moves, and so does a
row that nobody takes or gives.
"""

from __future__ import annotations

import math
import time
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from flex.placing.problem import Bools, Floats, Ints
from flex_solver.programs import highs_integer
from flex_solver.programs.highs_program import Program
from flex_solver.programs.row_market import Market, notable, offers
from flex_solver.programs.site_prices import Deal, Trade
from flex_solver.search.local_search_loop import MOVE, SHARE
from flex_solver.search.partition_in_integers import Placed
from flex_solver.search.where_items_may_be import may_be_on

# What a row costs that has nobody on the other side, in moves beyond its price: so much in any
# case. A guess.
UNMATCHED = 0.3
# The same in addition, in moves for each share of a node that the row asks. A guess.
UNMATCHED_SHARE = 6.0
# Changes in the largest remedies that are looked at. A guess.
SIZE = 3
# What a node costs that stays outside its band, in moves: about what it takes to mend it later. A
# guess.
LEFT = 4.0
# What a row costs that one node gives and none takes, in moves. A guess.
UNTAKEN = 2.5
# What a row costs that one node takes and none gives, in moves. A guess.
UNGIVEN = 1.5
# Deals that are put to the integer program, at most, the cheapest first. A guess.
MOST_DEALS = 30_000
# Nodes of HiGHS's search tree. A guess.
TREE = 500


def deal_remedies(
    placed: Placed,
    tolerance: float,
    until: float = math.inf,
    *,
    finely: bool = False,
    threads: int = 1,
) -> Placed:
    """Uses the deals that are known when time is up. With `finely`, smaller sites are traded too,
    which takes three times as long.
    """
    sites, market = _market(placed, tolerance, finely=finely)
    trade = Trade(market, UNMATCHED + UNMATCHED_SHARE * market.load.max(axis=1), with_small=False)
    trade.settle(range(len(market.low)), SIZE, until, threads)
    after = _carried_out(placed, sites, _choose(market, _likely(trade), until))
    return min(placed, after, key=Placed.merit)


def _market(placed: Placed, tolerance: float, *, finely: bool) -> tuple[Ints, Market]:
    """The market, with the sites that it trades. A site that has new rows gives only these: they
    cost no more elsewhere.
    """
    items, totals, nodes = placed.items, placed.totals(), len(placed.items.low)
    new = placed.costs() > 0
    of_new = np.isin(items.site, items.site[new])
    movable = np.zeros(len(items.site), dtype=np.bool_)
    movable[items.movable] = True
    movable &= new | ~of_new
    load = items.load / SHARE
    sites = np.flatnonzero(notable(load, nodes, tolerance, finely=finely))
    place = np.full(len(load), -1)
    place[sites] = np.arange(len(sites))
    worth = np.floor(items.price[sites] / MOVE + 0.5)
    worth[np.isin(sites, items.site[of_new])] = 0.0
    return sites, Market(
        load=load[sites],
        worth=worth,
        lacking=np.zeros(len(sites)),
        low=(items.low - totals) / SHARE,
        high=(items.high - totals) / SHARE,
        offers=[offers(*_gives_and_takes(placed, place, movable, node)) for node in range(nodes)],
        small=np.zeros(load.shape[1]),
        small_price=1.0,
    )


def _gives_and_takes(placed: Placed, place: Ints, movable: Bools, node: int) -> tuple[Ints, Ints]:
    """The places in the market of the sites that a node could give, and could take."""
    items, here = placed.items, placed.node == node
    gives, there = place[items.site[here & movable]], place[items.site[here]]
    takes = np.ones(np.count_nonzero(place >= 0), dtype=np.bool_)
    takes[there[there >= 0]] = False
    takes[_barred_items(placed, place, node)] = False
    return gives[gives >= 0], np.flatnonzero(takes)


def _barred_items(placed: Placed, place: Ints, node: int) -> Ints:
    items = placed.items
    sites = np.repeat(np.arange(len(items.price)), np.diff(items.first_barred))
    barred: Ints = place[sites[items.barred == node]]
    return barred[barred >= 0]


def _likely(trade: Trade) -> list[Deal]:
    """The deals that are hardly dearer than the best of their nodes."""
    cheapest = np.argsort(trade.dearer(), kind="stable")[:MOST_DEALS]
    return [trade.deals[d] for d in cheapest.tolist()]


def _choose(market: Market, deals: list[Deal], until: float) -> list[Deal]:
    """One deal for each node outside the band, and at most one for each other node."""
    program = _program(market, deals)
    best = highs_integer.whole_minimum(
        program, _nothing(market, deals), TREE, until - time.monotonic()
    )
    if best is None:
        return []
    return [deal for deal, share in zip(deals, best.values.tolist(), strict=False) if share > 0.5]


def _program(market: Market, deals: list[Deal]) -> Program:
    """Columns: deals, a row of each site that comes out of nowhere, one that goes there, nodes that
    are left.
    """
    nodes, sites, left = len(market.low), len(market.load), np.flatnonzero(market.nodes_off)
    costs = [
        np.array([market.worth[list(deal.takes)].sum() for deal in deals]),
        UNTAKEN + UNMATCHED_SHARE * market.load.max(axis=1),
        UNGIVEN + UNMATCHED_SHARE * market.load.max(axis=1),
        np.full(len(left), LEFT),
    ]
    cost, first = np.concatenate(costs), np.cumsum([0, *map(len, costs)])
    program = Program(
        cost=cost,
        lower=np.zeros(len(cost)),
        upper=np.repeat([1.0, nodes, 1.0], [len(deals), 2 * sites, len(left)]),
        row_lower=np.concatenate([market.nodes_off, np.zeros(sites)]),
        row_upper=np.concatenate([np.ones(nodes), np.zeros(sites)]),
        whole=np.ones(len(cost), dtype=np.bool_),
    )
    program.add(np.array([deal.node for deal in deals], dtype=np.int64), np.arange(len(deals)), 1.0)
    for sign, side in ((-1.0, "gives"), (1.0, "takes")):
        terms = [(nodes + site, d) for d, deal in enumerate(deals) for site in getattr(deal, side)]
        row, column = np.array(terms, dtype=np.int64).reshape(-1, 2).T
        program.add(row, column, sign)
    program.add(nodes + np.arange(sites), first[1] + np.arange(sites), 1.0)
    program.add(nodes + np.arange(sites), first[2] + np.arange(sites), -1.0)
    program.add(left, first[3] + np.arange(len(left)), 1.0)
    return program


def _nothing(market: Market, deals: list[Deal]) -> Floats:
    hint = np.zeros(len(deals) + 2 * len(market.load))
    return np.concatenate([hint, np.ones(np.count_nonzero(market.nodes_off))])


def _carried_out(placed: Placed, sites: Ints, deals: Sequence[Deal]) -> Placed:
    """Rows go from nodes that give their site to nodes that take it, as long as there are both."""
    gives, takes = defaultdict[int, list[int]](list), defaultdict[int, list[int]](list)
    for deal in deals:
        for site in deal.gives:
            gives[site].append(deal.node)
        for site in deal.takes:
            takes[site].append(deal.node)
    items, node = placed.items, placed.node.copy()
    for site in sorted(takes):
        name = int(sites[site])
        rows = [
            i
            for i in range(items.first_item[name], items.first_item[name + 1])
            if node[i] in gives[site]
        ]
        for i, to in zip(rows, takes[site], strict=False):
            if may_be_on(items, node, name, to):
                node[i] = to
    return replace(placed, node=node)

"""The least number of rows that any balanced partition moves, by what each node would pay.

Takes a Problem. Returns a number of moves that no balanced partition can stay under, and the prices
of sites that prove it. Does not find a partition.

Why the number is a bound. The worth of a site is the cost of a new row of it. Let each site have a
price between zero and its worth. Take any balanced partition, and let the nodes pay for its moves:
a node that loses a row pays the site's price, and a node that gets a new row pays the rest of the
worth. A site with k replicas, of which h are where they may stay, gets k - h more new rows than it
gives up. So the cost of all moves is the sum of price times k - h over all sites, plus what all
nodes pay.

A node outside the band pays at least the price of its cheapest remedy. Every other node pays at
least nothing. This is true at any prices; site_prices.py looks for those at which the sum is the
largest.

The cheapest remedy is found by looking at all sets of a few changes. Larger sets are not looked at.
Prices keep a distance from zero and from the worth, so that every change costs at least MARGIN
times the least worth. So a larger set costs at least this much for each of its changes. A small
site is in no set. Instead, a node may be as far off the band as the largest small site could put
it, for half the least worth.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, replace

import numpy as np

from flex.placing.problem import Bools, Floats, Problem
from flex_solver.bounds.linear import INEXACT
from flex_solver.bounds.pinned_problem import keep_pins
from flex_solver.bounds.problem_arrays import ProblemArrays, cluster_of, may_leave
from flex_solver.programs.row_market import Market, notable, offers
from flex_solver.programs.site_prices import Trade
from flex_solver.wishes_as_row_rules import RowRules

# No change costs less than this part of a move. A guess.
MARGIN = 0.3
# Changes in the largest sets that are looked at. A guess.
SIZE = 4
# The narrowest tolerance, as a part of a share, for which a bound is sought. A guess.
NARROW = 1e-3
# The most open nodes for which a bound is sought: more take too long. A guess.
MOST_NODES = 400
# Load outside the band, in shares for each node in the mean, above which no bound is sought:
# remedies would be sets of more changes than are looked at, and would take long. A guess.
FAR = 0.2
# The part of the time for the search for prices. The rest is for what nodes pay at them. A guess.
FOR_PRICES = 0.6
# Up to so many nodes a bound is sought however far off they are. A guess.
FEW = 3


@dataclass(frozen=True, slots=True, eq=False)
class Priced:
    """`least` moves, zero where nothing is said, and what each site costs the node that gives it,
    in moves.

    `named` are the sites that are traded by name.
    """

    least: int
    prices: Floats
    named: Bools


def floor(problem: Problem) -> int:
    return price_bound(problem).least


def price_bound(problem: Problem, more: Floats | None = None, until: float = math.inf) -> Priced:
    """A new row of each site may cost `more` than a move. Where time is up before all nodes were
    looked at, the bound is lower and holds as well.
    """
    pins = keep_pins(problem)
    priced = _price_bound(pins.problem, more, until)
    return replace(priced, least=priced.least + pins.moves) if priced.least else priced


def _price_bound(problem: Problem, more: Floats | None, until: float) -> Priced:
    nodes = int(problem.open.sum())
    rules = RowRules(problem)
    worth = rules.prices.astype(np.float64)
    worth = worth if more is None else worth + more
    unknown = Priced(0, worth / 2, np.zeros(len(worth), dtype=np.bool_))
    if problem.tolerance < NARROW or nodes > MOST_NODES or not problem.load.any():
        return unknown
    cluster = cluster_of(problem)
    if nodes > FEW and _outside(cluster) > FAR * nodes:
        return unknown
    by_name = notable(cluster.of_site, nodes, problem.tolerance)
    lacking = rules.lacking.astype(np.float64)
    market = _market(problem, cluster, by_name, worth, lacking)
    trade = Trade(market, -MARGIN * market.worth, with_small=True)
    now = time.monotonic()
    settled_by = now + FOR_PRICES * (until - now)
    trade.settle(np.flatnonzero(market.nodes_off).tolist(), SIZE, settled_by)
    prices = worth / 2
    prices[by_name] = trade.prices.site
    least = float(prices @ lacking) + float(_least_payments(trade, until).sum())
    bound = max(0, int(np.ceil(least - INEXACT * (1 + abs(least)))))
    return Priced(bound, prices, by_name)


def _outside(cluster: ProblemArrays) -> float:
    return float(
        np.maximum(np.maximum(cluster.load - cluster.high, cluster.low - cluster.load), 0.0).sum()
    )


def _market(
    problem: Problem, cluster: ProblemArrays, by_name: Bools, worth: Floats, lacking: Floats
) -> Market:
    place = np.where(by_name, np.cumsum(by_name) - 1, -1)
    given = place[problem.old[may_leave(problem), 0]]
    opened = np.flatnonzero(problem.open).tolist()
    small = cluster.of_site[~by_name]
    return Market(
        load=cluster.of_site[by_name],
        worth=worth[by_name],
        lacking=lacking[by_name],
        low=cluster.low - cluster.load,
        high=cluster.high - cluster.load,
        offers=[
            offers(
                given[(cluster.node == n) & (given >= 0)],
                place[RowRules(problem).free_to_come(node) & by_name],
            )
            for n, node in enumerate(opened)
        ],
        small=small.max(axis=0) if len(small) else np.zeros(cluster.of_site.shape[1]),
        small_price=float(worth.min()) / 2,
    )


def _least_payments(trade: Trade, until: float) -> Floats:
    """What each node pays at least at the prices found: nothing where it is in its band, or where
    nobody had time to look.
    """
    paid = np.zeros(len(trade.market.low))
    of_any_change = MARGIN * 2 * trade.market.small_price
    for node in np.flatnonzero(trade.market.nodes_off).tolist():
        if time.monotonic() > until:
            break
        most = float(trade.prices.node[node])
        deals, thorough = trade.cheapest(node, most, SIZE, 1)
        paid[node] = min([most, (thorough + 1) * of_any_change, *(price for price, _ in deals)])
    return paid

"""Prices of sites at which nodes exchange rows until each node is in its band.

Takes a Market: what each node may change by, and which rows it could give or take. Returns prices
at which no node has a cheaper remedy than the known ones, and those remedies. Does not choose a
remedy for each node: one_exchange_per_node.py does. A row that moves costs as much as its site's
`worth`. The node that it leaves pays the site's price, and the node that takes it pays the rest.

Prices come from a linear program: its columns are the remedies, fractions allowed, its rows say
that each node has one and that of every site as many rows come as leave, and `lacking` more.
Remedies are found at the prices of the program solved before, until there are none that would make
it cheaper. Rows that come or leave without anybody on the other side are allowed at an extra price,
the `margin`. Where that is less than nothing no change is for nothing, which is what priced.py
wants; where it is more, nodes that take are drawn to nodes that give, which is what
one_exchange_per_node.py wants.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial

import numpy as np

from flex.placing.problem import Floats
from flex_solver.programs import highs_linear
from flex_solver.programs.cheapest_changes import Changes, remedies
from flex_solver.programs.row_market import Market, Offers

# Remedies of each size that are kept for a node in the first round. A guess.
AT_FIRST = 40
# The same in each later round. A guess.
LATER = 16
# Rounds in which remedies are looked for, at most. A guess.
ROUNDS = 80
# What a node without a remedy costs, in moves: more than any remedy should. A guess.
LEFT = 6.0
# The dearest remedy that the first round looks for, in moves. A guess.
DEAR = 3.0
# Remedies that are cheaper by no more than this, in moves, are not looked for. A guess.
NEARLY = 1e-6


@dataclass(frozen=True, slots=True)
class Deal:
    """A remedy of a node: `gives` and `takes` are places of sites in the market, beside `small`
    sites.
    """

    node: int
    gives: tuple[int, ...]
    takes: tuple[int, ...]
    small: int = 0


@dataclass(frozen=True, slots=True, eq=False)
class Prices:
    """What each site costs the node that gives it, and what each node pays in all for the best that
    is known.
    """

    site: Floats
    node: Floats


class Trade:
    """The program so far."""

    def __init__(self, market: Market, margin: Floats, *, with_small: bool) -> None:
        self.market, self.deals = market, list[Deal]()
        self._known: set[Deal] = set()
        self._margin, self._with_small = margin, with_small
        off = market.nodes_off
        rows = np.concatenate([off, market.lacking])
        self._program = highs_linear.Growing(
            rows, np.concatenate([np.ones(len(off)), market.lacking])
        )
        self._add_columns_of_nobody()
        self.prices = Prices(market.worth / 2, np.where(off, DEAR, 0.0))

    def settle(
        self, nodes: Iterable[int], size: int, until: float = math.inf, threads: int = 1
    ) -> bool:
        """Trade until no node has a cheaper remedy of up to so many changes, or time is up; whether
        none has.

        What comes out does not depend on how many nodes are looked at side by side.
        """
        nodes = list(nodes)
        with ThreadPoolExecutor(threads) as pool:
            self._add(
                [
                    deal
                    for deals in pool.map(partial(self._first, until=until), nodes)
                    for deal in deals
                ]
            )
            now = min(2, size)
            for _ in range(ROUNDS):
                if time.monotonic() > until or not self._priced():
                    return False
                new = [
                    deal
                    for deals in pool.map(partial(self._better, size=now, until=until), nodes)
                    for deal in deals
                ]
                if not new and now == size:
                    return time.monotonic() <= until
                now += not new
                self._add(new)
        return False

    def cheapest(
        self, node: int, below: float, size: int, keep: int
    ) -> tuple[list[tuple[float, Deal]], int]:
        """Deals of the node for less, and up to how many changes that are traded by name none was
        passed over.
        """
        market, offers = self.market, self.market.offers[node]
        changes = Changes(market.load[offers.site] * offers.sign[:, None], self._price_of(offers))
        deals, thorough = list[tuple[float, Deal]](), size
        for small in range(self._most_small(below) + 1):
            price, reach = small * market.small_price, small * market.small
            low, high = market.low[node] - reach, market.high[node] + reach
            if small and np.all((low <= 0) & (high >= 0)):
                deals.append((price, Deal(node, (), (), small)))
            some = remedies(low, high, changes, below - price, size=size, keep=keep)
            thorough = min(thorough, some.thorough)
            deals += [
                (price + remedy.price, self._deal(node, offers, remedy.changes, small))
                for remedy in some.found
            ]
        return deals, thorough

    def dearer(self) -> Floats:
        """By how much each deal is dearer than the best of its node."""
        gives, node = self.prices.site.tolist(), self.prices.node.tolist()
        takes = (self.market.worth - self.prices.site).tolist()
        dearer = []
        for deal in self.deals:
            paid_for_rows = sum(gives[s] for s in deal.gives) + sum(takes[s] for s in deal.takes)
            paid = paid_for_rows + deal.small * self.market.small_price
            dearer.append(paid - node[deal.node])
        return np.array(dearer)

    def _first(self, node: int, until: float) -> list[Deal]:
        """Two changes put most nodes right; where they do not, three are tried."""
        for size in (2, 3):
            if time.monotonic() > until:
                return []
            if deals := self.cheapest(node, self.prices.node[node], size, AT_FIRST)[0]:
                return [deal for _, deal in deals]
        return []

    def _better(self, node: int, size: int, until: float) -> list[Deal]:
        if time.monotonic() > until:
            return []
        deals, _ = self.cheapest(node, self.prices.node[node] - NEARLY, size, LATER)
        return [deal for _, deal in deals if deal not in self._known]

    def _most_small(self, below: float) -> int:
        """With so many small sites a remedy may still be cheap enough."""
        return max(0, int(np.ceil(below / self.market.small_price)) - 1) if self._with_small else 0

    def _price_of(self, offers: Offers) -> Floats:
        price, worth = self.prices.site[offers.site], self.market.worth[offers.site]
        return np.where(offers.sign < 0, price, worth - price)

    def _deal(self, node: int, offers: Offers, changes: tuple[int, ...], small: int) -> Deal:
        site, sign = offers.site[list(changes)], offers.sign[list(changes)]
        return Deal(node, tuple(site[sign < 0].tolist()), tuple(site[sign > 0].tolist()), small)

    def _add_columns_of_nobody(self) -> None:
        """Columns: a row of each site comes out of nowhere, one of each goes there, a node is left
        as it is.
        """
        market = self.market
        nodes = len(market.low)
        sites = len(market.load)
        left = np.flatnonzero(market.nodes_off)
        cost = np.concatenate([market.worth + self._margin, self._margin, np.full(len(left), LEFT)])
        row = np.concatenate([np.tile(nodes + np.arange(sites), 2), left])
        value = np.concatenate([np.ones(sites), -np.ones(sites), np.ones(len(left))])
        self._program.add(cost, np.arange(len(cost)), row, value)

    def _add(self, deals: list[Deal]) -> None:
        self.deals += deals
        self._known.update(deals)
        if not deals:
            return
        # The rows of the program are the nodes, then the sites.
        nodes = len(self.market.low)
        worth = self.market.worth.tolist()
        cost = list[float]()
        starts = list[int]()
        row = list[int]()
        value = list[float]()
        for deal in deals:
            new_rows = sum(worth[site] for site in deal.takes)
            cost.append(new_rows + deal.small * self.market.small_price)
            starts.append(len(row))
            row.append(deal.node)
            row += [nodes + site for site in deal.gives + deal.takes]
            value.append(1.0)
            value += [-1.0] * len(deal.gives) + [1.0] * len(deal.takes)
        self._program.add(np.array(cost), np.array(starts), np.array(row), np.array(value))

    def _priced(self) -> bool:
        best = self._program.minimum()
        if best is None:
            return False
        nodes, worth = len(self.market.low), self.market.worth
        site = np.clip(best.duals[nodes:], -self._margin, worth + self._margin)
        self.prices = Prices(
            site,
            np.where(
                self.market.nodes_off, best.duals[:nodes], np.minimum(best.duals[:nodes], 0.0)
            ),
        )
        return True

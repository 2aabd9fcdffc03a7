"""The market in which nodes exchange rows: which sites are traded, and who could give or take them.

Takes loads, and which rows a node could give and take. Returns a Market. Does not find prices:
site_prices.py does.

Small sites are many and hardly matter. They have no names here: at a fixed price, a node may give
or take a few that are each as large as the largest of them, where this is allowed.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from flex.placing.problem import Bools, Floats, Ints

# A site is notable, and traded by name, from this part of the tolerance on. A guess.
NOTABLE = 0.4
# Notable sites for each node, at most. A guess.
MOST_OF_EACH = 40
# The part of the tolerance from which on a site is notable when all is looked at `finely`. A guess.
FINE = 0.15
# Notable sites for each node then, at most. A guess.
MOST_OF_FINE = 100


@dataclass(frozen=True, slots=True, eq=False)
class Offers:
    """The rows that one node could give (`sign` -1) and take (1), by the places of their sites in
    the market.
    """

    site: Ints
    sign: Floats


def offers(gives: Ints, takes: Ints) -> Offers:
    return Offers(np.concatenate([gives, takes]), np.repeat([-1.0, 1.0], [len(gives), len(takes)]))


@dataclass(frozen=True, slots=True, eq=False)
class Market:
    """Loads and limits are in shares of a mean node. A node is off when doing nothing is no
    remedy.
    """

    load: Floats
    worth: Floats
    lacking: Floats
    low: Floats
    high: Floats
    offers: list[Offers]
    small: Floats
    small_price: float

    @property
    def nodes_off(self) -> Bools:
        off: Bools = np.any((self.low > 0) | (self.high < 0), axis=1)
        return off


def notable(load: Floats, nodes: int, tolerance: float, *, finely: bool = False) -> Bools:
    """Which sites are traded by name: those that fill a good part of the band."""
    size = load.max(axis=1)
    least, most = (FINE, MOST_OF_FINE) if finely else (NOTABLE, MOST_OF_EACH)
    least, most = least * tolerance, most * nodes
    if np.count_nonzero(size >= least) > most:
        least = float(np.sort(size)[-most])
    traded: Bools = size >= least
    return traded

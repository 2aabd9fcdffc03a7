"""A certificate that so many moves are needed, which flex/placing/check_proof.py takes.

Takes a Problem without groups, and the prices of its sites. Returns the certificate, whose sites
are those of the problem. Does not check it, and need not be right: a certificate that says too much
is refused by the checker.

Each node outside its band pays at least what its cheapest set of changes costs. For each of them a
small linear program, in which fractions of changes may be made, gives the vector with which the
checker needs to look at few sets.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from flex.placing.check_proof import MOST_SMALL, MOVE, WEIGHT
from flex.placing.problem import Bools, Floats, Ints, Problem
from flex_solver.bounds.linear import Relaxed, relax
from flex_solver.bounds.pinned_problem import PinsKept, keep_pins
from flex_solver.bounds.priced import MARGIN, SIZE, Priced, price_bound
from flex_solver.bounds.problem_arrays import cluster_of, may_leave
from flex_solver.programs import highs_linear
from flex_solver.programs.cheapest_changes import Changes, remedies
from flex_solver.programs.highs_program import Program
from flex_solver.programs.row_market import notable
from flex_solver.wishes_as_row_rules import RowRules

# What a node is said to pay is less than what was found by this, in moves: sums of floats are off
# by less.
INEXACT = 4e-6
# The dearest set that is looked for, in moves. A guess.
DEAREST_SET = 2.0
# Sets of changes that one more is looked for, at most, for one node. A guess: the checker takes
# some hundredths of a second for a thousand of them, and refuses a node with 100,000.
MOST_SETS = 20_000
# How often a gap is halved to find the largest that does.
HALVINGS = 10
# Where changes may cost less than this, in moves, sets of a few say nothing. A guess.
LEAST_COST = 0.05
# The dearest that a share of load outside the band may be in a node's program, in moves. A guess.
DEAREST = 400.0


@dataclass(frozen=True, slots=True, eq=False)
class Known:
    """What a solver knows of a problem: the bound of linear.py and, if it looked, of priced.py."""

    relaxed: Relaxed
    priced: Priced | None


@dataclass(frozen=True, slots=True, eq=False)
class SitePrices:
    """What sites cost the nodes that give them, in moves, and which of them are `named`. The others
    cost `rest` of what a new row of them is.
    """

    site: Floats
    named: Bools
    rest: float = 0.5


def certificate(
    problem: Problem, known: Known | None = None, until: float = math.inf
) -> dict[str, Any] | None:
    """The one with the largest bound, if any moves are needed. Sites and nodes are by their
    positions in the problem. Where time is up fewer are tried, and fewer nodes say what they pay.
    """
    if not problem.load.any() or not len(problem.old):
        return None
    if known is None:
        known = Known(relax(problem), price_bound(problem))
    pins = keep_pins(problem)
    certificates = list[dict[str, Any]]()
    for prices in _choices(pins.problem, known):
        if not certificates or time.monotonic() < until:
            certificates.append(_certificate(pins, prices, until))
    best = max(certificates, key=lambda candidate: float(candidate.pop("total")))
    return best if best["bound"] else None


def _choices(problem: Problem, known: Known) -> Iterator[SitePrices]:
    """The prices of priced.py, and those of linear.py, as they are and less extreme: where each
    change costs something, few sets of changes need to be looked at.
    """
    if known.priced is not None and known.priced.least:
        yield SitePrices(known.priced.prices, known.priced.named)
    rules = RowRules(problem)
    nodes, worth = int(problem.open.sum()), rules.prices
    named = notable(cluster_of(problem).of_site, nodes, problem.tolerance)
    named |= rules.lacking != 0
    others = known.relaxed.prices[~named] / worth[~named]
    rest = float(np.median(others)) if len(others) else 0.5
    yield SitePrices(known.relaxed.prices, named, rest)
    modest = np.clip(known.relaxed.prices, MARGIN * worth, (1 - MARGIN) * worth)
    gone = (rules.lacking > 0) & (rules.rows_that_may_stay == 0)
    modest = np.where(gone, worth, modest)
    yield SitePrices(modest, named, min(max(rest, MARGIN), 1 - MARGIN))


def _certificate(pins: PinsKept, prices: SitePrices, until: float) -> dict[str, Any]:
    problem = pins.problem
    market = _Market(problem, prices)
    opened = np.flatnonzero(problem.open)
    nodes, paid = {}, 0.0
    for n in market.off:
        if time.monotonic() > until:
            break
        pays, vector = market.pays(n, until)
        if pays > 0:
            paid += pays
            nodes[str(opened[n])] = {"pays": int(pays * MOVE), "v": vector.tolist()}
    total = pins.moves + paid + float(market.site @ market.rules.lacking)
    names = np.flatnonzero(prices.named)
    return {
        "total": total,
        "bound": max(0, int(np.ceil(total - INEXACT * (1 + len(nodes))))),
        "prices": [names.tolist(), market.whole[names].tolist()],
        "rest": int(prices.rest * MOVE),
        "nodes": nodes,
    }


def _gap_to_look_at(reduced: Floats, slope: float, wanted: float) -> float:
    """How large a gap may be, up to the one wanted, so that the checker does not look at too many
    sets of changes.
    """
    if _are_few(reduced, wanted, slope):
        return wanted
    low, high = 0.0, wanted
    for _ in range(HALVINGS):
        gap = (low + high) / 2
        low, high = (gap, high) if _are_few(reduced, gap, slope) else (low, gap)
    return low


def _are_few(reduced: Floats, gap: float, slope: float) -> bool:
    """The gap is smaller by the slope with each small site that the checker adds to the sets."""
    if gap >= (MOST_SMALL - 1) * slope:
        return False
    sets = 0
    while gap > 0 and sets <= MOST_SETS:
        sets += _number_of_sets(reduced, gap)
        gap -= slope
    return sets <= MOST_SETS


def _number_of_sets(reduced: Floats, gap: float) -> int:
    """How many sets of changes have room for one more as dear as their dearest; not counted on
    where they are too many.
    """
    dearest, left, count = np.array([-1]), np.array([gap]), 1
    while len(dearest) and count <= MOST_SETS:
        grown = np.maximum(np.searchsorted(reduced, left / 2) - dearest - 1, 0)
        number = int(grown.sum())
        count += number
        if count > MOST_SETS:
            break
        each = np.repeat(np.arange(len(dearest)), grown)
        dearest = (dearest + 1 - np.cumsum(grown) + grown)[each] + np.arange(number)
        left = left[each] - reduced[dearest]
    return count


class _Market:
    """What each node may change, at prices that are whole parts of a move."""

    def __init__(self, problem: Problem, prices: SitePrices) -> None:
        self.problem, self.named = problem, prices.named
        self.rules, self.cluster = RowRules(problem), cluster_of(problem)
        self.worth = self.rules.prices
        at_rest = self.worth * int(prices.rest * MOVE)
        self.whole = np.where(
            prices.named,
            np.clip(np.rint(prices.site * MOVE).astype(np.int64), 0, self.worth * MOVE),
            at_rest,
        )
        self.site = self.whole / MOVE
        small = ~prices.named
        self.small = self.cluster.of_site[small].max(axis=0, initial=0.0)
        of_small = np.minimum(self.site, self.worth - self.site)[small]
        self.has_small = bool(small.any())
        # Where there are none, none of them is cheaper than any other change.
        self.of_small = float(of_small.min(initial=DEAREST_SET))
        cluster = self.cluster
        self.low, self.high = cluster.low - cluster.load, cluster.high - cluster.load
        self.off = np.flatnonzero(((self.low > 0) | (self.high < 0)).any(axis=1)).tolist()

    def pays(self, n: int, until: float) -> tuple[float, Ints]:
        """What the node pays at least, and the vector that shows it."""
        cost, load = self._changes(n)
        vector = np.rint(self._duals(n, cost, load) * WEIGHT).astype(np.int64)
        v = vector / WEIGHT
        slope = self.of_small - np.abs(v) @ self.small if self.has_small else math.inf
        if slope <= 0:
            return 0.0, vector
        edge = np.where(v > 0, self.low[n], self.high[n])
        reduced = cost - load @ v
        least = float(v @ edge + np.minimum(reduced, 0.0).sum())
        wanted = max(0.0, self._cheapest(n, cost, load, until) - least)
        gap = _gap_to_look_at(np.sort(np.abs(reduced)), slope, wanted)
        return least + gap - INEXACT, vector

    def _changes(self, n: int) -> tuple[Floats, Floats]:
        """What each change that has a name costs, and the load that it brings."""
        problem, named = self.problem, self.named
        node = int(np.flatnonzero(problem.open)[n])
        of_row = problem.old[may_leave(problem), 0][self.cluster.node == n]
        gives = of_row[named[of_row]]
        takes = np.flatnonzero(self.rules.free_to_come(node) & named)
        of_site = self.cluster.of_site
        return (
            np.concatenate([self.site[gives], self.worth[takes] - self.site[takes]]),
            np.concatenate([-of_site[gives], of_site[takes]]),
        )

    def _cheapest(self, n: int, cost: Floats, load: Floats, until: float) -> float:
        """What its cheapest set of a few changes costs, small sites among them; or what those cost
        at least that were not looked at in time.
        """
        least = min(float(cost.min(initial=np.inf)), self.of_small)
        if least <= LEAST_COST:
            return 0.0
        dearest = min(DEAREST_SET, (SIZE + 1) * least)
        paid, thorough, small = dearest, SIZE, 0
        most_small = MOST_SMALL if self.has_small else 0
        while small <= most_small and (price := small * self.of_small) < paid:
            if time.monotonic() > until:
                return min(price, (thorough + 1) * least)
            reach = small * self.small
            low, high = self.low[n] - reach, self.high[n] + reach
            if ((low <= 0) & (high >= 0)).all():
                paid = min(paid, price)
            band_remedies = remedies(
                low, high, Changes(load, cost), paid - price, size=SIZE, keep=1
            )
            thorough = min(thorough, band_remedies.thorough)
            paid = min([paid, *(price + remedy.price for remedy in band_remedies.found)])
            small += 1
        return min(paid, (thorough + 1) * least)

    def _duals(self, n: int, cost: Floats, load: Floats) -> Floats:
        """What the edges of the node's band cost, in moves for each share."""
        resources = load.shape[1]
        none = np.zeros(2 * resources)
        program = Program(
            cost=np.concatenate([cost, none + DEAREST]),
            lower=np.zeros(len(cost) + 2 * resources),
            upper=np.concatenate([np.ones(len(cost)), none + np.inf]),
            row_lower=self.low[n],
            row_upper=self.high[n],
        )
        each, d = np.arange(len(cost)), np.arange(resources)
        for resource in range(resources):
            program.add(np.full(len(cost), resource), each, load[:, resource])
        program.add(d, len(cost) + d, 1.0)
        program.add(d, len(cost) + resources + d, -1.0)
        optimum = highs_linear.minimum(program)
        return np.zeros(resources) if optimum is None else optimum.duals

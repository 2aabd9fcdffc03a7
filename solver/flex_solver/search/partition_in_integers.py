"""A partition in integers, which the searches work on.

Takes a Problem and rows that keep every wish. Returns Items and the node of each item; nodes are
numbered among the open ones. Does not search. A new row costs MOVE for each move, and a little for
its cold bytes, so that cold bytes decide between partitions with as many moves.

It also says which band each node is asked to keep, where its own cannot hold. Where pins leave room
on every node, the band is the tolerance around 1. A node that its pins, or one site larger than any
node, put over the band cannot be brought back. It is asked to come as near as it can, to a tenth of
the tolerance. Where another node must stay farther off, it may keep its small sites as well,
because none of them is worth a move. The other nodes are asked for less, because less is left for
them. So few rows move where the band cannot hold.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from flex.placing.problem import Floats, Ints, Problem, sort_by_site
from flex.placing.score import ROUNDING
from flex_solver.bounds.problem_arrays import may_leave
from flex_solver.search.local_search_loop import MOVE, SHARE, Items
from flex_solver.wishes_as_row_rules import RowRules

# How near a node that cannot reach its band must come to the nearest possible, as a part of the
# tolerance. A guess.
NEAR = 0.1


# What the cold bytes of the dearest site cost: 8192 such sites are one move. A guess.
DEAREST = MOVE >> 13
# A mean node's share in the units of a Problem.
HUNDRED = 100.0


@dataclass(frozen=True, slots=True, eq=False)
class Placed:
    """`items` with `node[i]`, where each of them is; `open_nodes` are the nodes' places in the
    problem.

    `home_keys` are the sites and nodes of all homes, each pair as one number, in order.
    """

    items: Items
    node: Ints
    open_nodes: Ints
    home_keys: Ints

    @property
    def rows(self) -> Ints:
        return sort_by_site(np.stack([self.items.site, self.open_nodes[self.node]], axis=1))

    def totals(self) -> Ints:
        """The load of each node."""
        totals = np.zeros_like(self.items.low)
        np.add.at(totals, self.node, self.items.load[self.items.site])
        return totals

    def costs(self) -> Ints:
        """What each item costs where it is."""
        return self.costs_at(self.items.site, self.node)

    def costs_at(self, site: Ints, node: Ints) -> Ints:
        """What rows of the sites on the nodes cost."""
        items = self.items
        known = self.home_keys
        wanted = site * len(self.items.low) + node
        if not len(known):
            return items.price[site]
        at = np.minimum(np.searchsorted(known, wanted), len(known) - 1)
        costs: Ints = np.where(known[at] == wanted, items.at_home[at], items.price[site])
        return costs

    def merit(self) -> tuple[int, int]:
        """Less is better: load outside the band, then what the new rows cost."""
        return outside(self.items, np.arange(len(self.items.low)), self.totals()), int(
            self.costs().sum()
        )

    def moves(self) -> int:
        """The moves of a partition within the band; 0 where the band does not hold."""
        load_outside, cost = self.merit()
        return 0 if load_outside else round(cost / MOVE)


def to_integers(problem: Problem, rows: Ints, movable: Ints) -> Placed:
    """The rows in order; `movable` are the places of those that searches may change."""

    open_nodes = np.flatnonzero(problem.open)
    node = np.searchsorted(open_nodes, rows[:, 1])
    items = _items(problem, rows, open_nodes, movable)
    sites = np.repeat(np.arange(len(items.price)), np.diff(items.first_home))
    return Placed(items, node, open_nodes, home_keys=sites * len(open_nodes) + items.home)


def load_off_band(items: Items, nodes: Ints | list[int] | int | slice, totals: Ints) -> Ints:
    """The load outside its band of each node that carries so much."""
    load_outside: Ints = np.maximum(
        np.maximum(totals - items.high[nodes], items.low[nodes] - totals), 0
    ).sum(axis=-1)
    return load_outside


def outside(items: Items, nodes: Ints | list[int], totals: Ints) -> int:
    """The same of all these nodes."""
    return int(load_off_band(items, nodes, totals).sum())


def _items(problem: Problem, rows: Ints, open_nodes: Ints, movable: Ints) -> Items:
    unit = SHARE / HUNDRED
    share = problem.share[open_nodes, None] * unit
    # Half of what the judge forgives, since the loads are rounded to whole units as well.
    least, most = bands(problem, problem.tolerance + ROUNDING / 2)
    carries = problem.load.sum(axis=0) > 0
    homes, at_home, price = _prices(problem)
    rivals = _pairs(problem.rivals)
    barred = _pairs(problem.barred)
    barred = barred[problem.open[barred[:, 1]]]
    starts = np.arange(len(problem.sites) + 1)
    return Items(
        site=np.ascontiguousarray(rows[:, 0]),
        load=np.rint(problem.load * unit).astype(np.int64, order="C"),
        low=np.ceil(share * least * carries).astype(np.int64, order="C"),
        high=np.floor(share * most).astype(np.int64, order="C"),
        first_item=np.searchsorted(rows[:, 0], starts),
        first_home=np.searchsorted(homes[:, 0], starts),
        home=np.searchsorted(open_nodes, homes[:, 1]),
        at_home=at_home,
        price=price,
        first_barred=np.searchsorted(barred[:, 0], starts),
        barred=np.searchsorted(open_nodes, barred[:, 1]),
        first_rival=np.searchsorted(rivals[:, 0], starts),
        rivals=np.ascontiguousarray(rivals[:, 1]),
        movable=movable,
    )


def _prices(problem: Problem) -> tuple[Ints, Ints, Ints]:
    """Rows that cost less than others of their sites, what they cost, and what others do."""
    weight = np.ones_like(problem.cold) if problem.weight is None else problem.weight
    price = weight * MOVE + _price_cold_bytes(problem, problem.cold)
    held = problem.old[RowRules(problem).may_stay]
    if problem.partly is None or not len(problem.partly):
        return held, np.zeros(len(held), dtype=np.int64), price
    partly = problem.partly[problem.open[problem.partly[:, 1]]]
    site = partly[:, 0]
    reduced = (weight[site] - partly[:, 2]) * MOVE + _price_cold_bytes(
        problem, problem.cold[site] - partly[:, 3]
    )
    rows = np.concatenate([held, partly[:, :2]])
    cost = np.concatenate([np.zeros(len(held), dtype=np.int64), reduced])
    ordered = np.lexsort((rows[:, 1], rows[:, 0]))
    return rows[ordered], cost[ordered], price


def _price_cold_bytes(problem: Problem, cold: Ints) -> Ints:
    return np.rint(cold / max(1, int(problem.cold.max(initial=0))) * DEAREST).astype(np.int64)


def _pairs(wishes: Mapping[int, frozenset[int]]) -> Ints:
    pairs = [(site, other) for site in sorted(wishes) for other in sorted(wishes[site])]
    return np.array(pairs, dtype=np.int64).reshape(-1, 2)


def bands(problem: Problem, tolerance: float) -> tuple[Floats, Floats]:
    """`tolerance` is the problem's, and what is forgiven beside it."""
    share = problem.share[problem.open, None]
    low, high = (
        np.full((len(share), len(problem.dimensions)), 1 + sign * tolerance) for sign in (-1, 1)
    )
    stays = np.maximum(_pinned_load(problem), _too_large(problem, tolerance)) / share
    over = stays > high
    if not over.any():
        return low, high
    near = stays + NEAR * tolerance
    high[over] = np.maximum(near, np.minimum(stays + _small(problem) / share, near[over].max()))[
        over
    ]
    left = problem.replicas @ problem.load - (share * high * over).sum(axis=0)
    of_others = left / np.maximum((share * ~over).sum(axis=0), ROUNDING)
    return np.minimum(low, np.maximum(of_others - tolerance / 2, 0.0)), high


def _pinned_load(problem: Problem) -> Floats:
    """What the pins bring to each open node."""
    pairs = [(site, node) for site, nodes in problem.pinned.items() for node in nodes]
    rows = np.array(pairs, dtype=np.int64).reshape(-1, 2)
    return _load_of_each_node(problem, rows[problem.open[rows[:, 1]]])


def _small(problem: Problem) -> Floats:
    """What the rows in force bring that are no larger than the tolerance and not pinned."""
    rows = _rows_in_force(problem)
    asks = problem.load[rows[:, 0]].max(axis=1)
    return _load_of_each_node(problem, rows[asks <= problem.tolerance * problem.share[rows[:, 1]]])


def _too_large(problem: Problem, tolerance: float) -> Floats:
    """The largest row in force on each node of those that fit no node."""
    most = np.zeros((len(problem.nodes), len(problem.dimensions)))
    widest = problem.share.max() * (1 + tolerance)
    if problem.load.max(initial=0.0) > widest:
        rows = _rows_in_force(problem)
        large = rows[problem.load[rows[:, 0]].max(axis=1) > widest]
        np.maximum.at(most, large[:, 1], problem.load[large[:, 0]])
    return most[problem.open]


def _rows_in_force(problem: Problem) -> Ints:
    rows: Ints = problem.old[may_leave(problem)]
    return rows


def _load_of_each_node(problem: Problem, rows: Ints) -> Floats:
    load = problem.load[rows[:, 0]]
    sums: Floats = np.zeros((len(problem.nodes), load.shape[1]))
    np.add.at(sums, rows[:, 1], load)
    return sums[problem.open]

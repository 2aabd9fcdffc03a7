"""Nodes that put each other right: two by one move, three by two.

In goes a placement; out come groups of nodes, one at least outside the band, each with the cheapest moves found that
bring all of it into the band and touch no other node. Which groups go together is decided in packing.py.

All but one node of such a group, the centre, are leaves, which one move must put right by itself: mending.py finds
these moves. A group of two is one of them that leaves its centre in the band, a group of three two that do so together.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from flex.problem import Bools, Ints
from flex_solver.improve import Items
from flex_solver.mending import Mending, mending, outside_band
from flex_solver.placed import Placed

# Two moves each that are looked at in all, those around centres outside the band first; and at a time.
PAIRS, AT_ONCE = 400_000_000, 2_000_000
# Centres in the band that are kept for the same leaves.
SPARE = 4
NONE = -1


@dataclass(frozen=True, slots=True, eq=False)
class Groups:
    """Each with its nodes, the items that move and where to, NONE where there are fewer, and what that costs more."""

    nodes: Ints
    item: Ints
    to: Ints
    cost: Ints

    def __len__(self) -> int:
        return len(self.cost)

    def __getitem__(self, which: Ints) -> Groups:
        return Groups(self.nodes[which], self.item[which], self.to[which], self.cost[which])


def groups(placed: Placed) -> Groups:
    totals = placed.totals()
    off = outside_band(placed.items, np.arange(len(totals)), totals)
    moves = mending(placed, totals)
    found = [_twos(placed.items, totals, moves), *_threes(placed.items, totals, moves, off)]
    every = Groups(
        *(np.concatenate([getattr(part, name) for part in found]) for name in ("nodes", "item", "to", "cost"))
    )
    return _fewer(_cheapest(every), off)


def _twos(items: Items, totals: Ints, moves: Mending) -> Groups:
    right = moves[~outside_band(items, moves.centre, totals[moves.centre] + moves.change)]
    none = np.full(len(right), NONE)
    return Groups(
        nodes=np.stack([right.leaf, right.centre, none], axis=1),
        item=np.stack([right.item, none], axis=1),
        to=np.stack([right.to, none], axis=1),
        cost=right.cost,
    )


def _threes(items: Items, totals: Ints, moves: Mending, off: Bools) -> Iterator[Groups]:
    """Around one centre after the other, as long as there are PAIRS left."""
    by_centre = np.argsort(moves.centre, kind="stable")
    cuts = np.searchsorted(moves.centre[by_centre], np.arange(len(totals) + 1))
    pairs = PAIRS
    for centre in np.argsort(~off, kind="stable").tolist():
        around = moves[by_centre[cuts[centre] : cuts[centre + 1]]]
        pairs -= len(around) ** 2
        if pairs < 0:
            break
        yield _around(items, totals, around, centre)


def _around(items: Items, totals: Ints, moves: Mending, centre: int) -> Groups:
    first, second = _together(items, totals, moves, centre)
    apart = moves.leaf[first] < moves.leaf[second]
    first, second = first[apart], second[apart]
    compatible = ~_rivals(items, items.site[moves.item[first]], items.site[moves.item[second]])
    first, second = first[compatible], second[compatible]
    return _cheapest(
        Groups(
            nodes=np.stack([moves.leaf[first], moves.leaf[second], np.full(len(first), centre)], axis=1),
            item=np.stack([moves.item[first], moves.item[second]], axis=1),
            to=np.stack([moves.to[first], moves.to[second]], axis=1),
            cost=moves.cost[first] + moves.cost[second],
        )
    )


def _together(items: Items, totals: Ints, moves: Mending, centre: int) -> tuple[Ints, Ints]:
    """Which two of the moves leave the centre in the band."""
    low, high = items.low[centre] - totals[centre], items.high[centre] - totals[centre]
    rows = max(1, AT_ONCE // max(1, len(moves)))
    found = [np.empty((2, 0), dtype=np.int64)]
    for start in range(0, len(moves), rows):
        fits = np.ones((len(moves.change[start : start + rows]), len(moves)), dtype=np.bool_)
        for d, change in enumerate(moves.change.T):
            both = change[start : start + rows, None] + change
            fits &= (both >= low[d]) & (both <= high[d])
        first, second = np.nonzero(fits)
        found.append(np.stack([first + start, second]))
    first, second = np.concatenate(found, axis=1)
    return first, second


def _rivals(items: Items, one: Ints, other: Ints) -> Bools:
    """Which of the sites are the same, or must not be where the other is."""
    sites = len(items.price)
    pairs = np.repeat(np.arange(sites), np.diff(items.first_rival)) * sites + items.rivals
    found: Bools = (one == other) | np.isin(one * sites + other, pairs)
    return found


def _cheapest(found: Groups) -> Groups:
    """One of those with the same nodes."""
    nodes = np.sort(found.nodes, axis=1)
    ordered = np.lexsort((found.cost, *nodes.T))
    differs = np.ones(len(ordered), dtype=np.bool_)
    differs[1:] = (nodes[ordered[1:]] != nodes[ordered[:-1]]).any(axis=1)
    return found[ordered[differs]]


def _fewer(found: Groups, off: Bools) -> Groups:
    """Without most of those that differ only in a node that is in the band already."""
    is_off = off[found.nodes] & (found.nodes >= 0)
    leaves = np.sort(np.where(is_off, found.nodes, NONE), axis=1)
    size = (found.nodes >= 0).sum(axis=1)
    ordered = np.lexsort((found.cost, size, *leaves.T))
    key = np.column_stack([leaves, size])[ordered]
    starts = np.flatnonzero(np.concatenate([[True], (key[1:] != key[:-1]).any(axis=1)]))
    nth = np.arange(len(key)) - np.repeat(starts, np.diff(np.append(starts, len(key))))
    return found[np.sort(ordered[nth < SPARE])]

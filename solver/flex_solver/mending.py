"""Single moves that put a node right.

In goes a placement; out come moves after which a node that is outside the band, the leaf, lies within it. Each of them
leaves another node, the centre, with more or less than it had: groups.py says what that is good for. Of a node with
many items that would do, some of every size are looked at.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np

from flex.problem import Bools, Ints
from flex_solver.improve import Items
from flex_solver.placed import Placed, is_shut

# Of the items that may come to a leaf, so many of each node are looked at; and of those that may leave it.
COMING, LEAVING = 8, 24


@dataclass(frozen=True, slots=True, eq=False)
class Mending:
    """Of each move its leaf and its centre, the item and where it goes; the centre then carries `change` more."""

    leaf: Ints
    centre: Ints
    item: Ints
    to: Ints
    change: Ints
    cost: Ints

    def __len__(self) -> int:
        return len(self.item)

    def __getitem__(self, which: Ints | Bools) -> Mending:
        return Mending(*(getattr(self, field.name)[which] for field in fields(self)))


def mending(placed: Placed, totals: Ints) -> Mending:
    items = placed.items
    leaves = np.flatnonzero(outside_band(items, np.arange(len(totals)), totals))
    crowd = _Crowd(placed, totals)
    leaf, centre, item = np.concatenate(
        [np.empty((3, 0), dtype=np.int64), *(part for leaf in leaves.tolist() for part in crowd.around(leaf))], axis=1
    )
    goes = placed.node[item] == leaf
    to = np.where(goes, centre, leaf)
    site = items.site[item]
    cost = placed.costs_at(site, to) - placed.costs_at(site, placed.node[item])
    change = np.where(goes, 1, -1)[:, None] * items.load[site]
    return Mending(leaf, centre, item, to, change, cost)[~is_shut(placed, site, to)]


def outside_band(items: Items, nodes: Ints, totals: Ints) -> Bools:
    """Which of the nodes would be outside the band if they carried so much."""
    outside: Bools = np.any((totals > items.high[nodes]) | (totals < items.low[nodes]), axis=1)
    return outside


class _Crowd:
    """The movable items with their nodes, by size."""

    def __init__(self, placed: Placed, totals: Ints) -> None:
        items = placed.items
        load = items.load[items.site[items.movable]]
        by_size = np.lexsort((items.movable, load[:, 0]))
        self._items, self._totals = items, totals
        self._item, self._load = items.movable[by_size], load[by_size]
        self._node = placed.node[self._item]

    def around(self, leaf: int) -> tuple[Ints, Ints]:
        """Leaf, centre and item of the moves from it, and of those to it."""
        goes = self._good(leaf, np.flatnonzero(self._node == leaf), -1)
        goes = goes[spread(np.zeros_like(goes), LEAVING)]
        comes = self._good(leaf, self._near(leaf), 1)
        comes = comes[self._node[comes] != leaf]
        comes = comes[spread(self._node[comes], COMING)]
        centres = np.delete(np.arange(len(self._totals)), leaf)
        away = np.tile(centres, len(goes)), np.repeat(self._item[goes], len(centres))
        return _rows(leaf, *away), _rows(leaf, self._node[comes], self._item[comes])

    def _near(self, leaf: int) -> Ints:
        """Items that bring as much of the first resource as the leaf may take."""
        low, high = (edge[leaf, 0] - self._totals[leaf, 0] for edge in (self._items.low, self._items.high))
        first, last = np.searchsorted(self._load[:, 0], [low, high + 1])
        return np.arange(first, last)

    def _good(self, leaf: int, which: Ints, times: int) -> Ints:
        after = self._totals[leaf] + times * self._load[which]
        good: Ints = which[~outside_band(self._items, np.full(len(which), leaf), after)]
        return good


def spread(group: Ints, count: int) -> Ints:
    """The places of about `count` of each group, evenly from its first to its last; all of a small group."""
    ordered = np.argsort(group, kind="stable")
    starts = np.searchsorted(group[ordered], group[ordered])
    ends = np.searchsorted(group[ordered], group[ordered], side="right")
    nth, size = np.arange(len(group)) - starts, np.maximum(ends - starts, count)
    kept: Ints = np.sort(ordered[(nth + 1) * count // size > nth * count // size])
    return kept


def _rows(leaf: int, centre: Ints, item: Ints) -> Ints:
    return np.stack([np.full(len(item), leaf), centre, item])

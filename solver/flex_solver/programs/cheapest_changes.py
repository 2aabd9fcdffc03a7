"""The cheapest remedies of one node: sets of a few changes that bring its load into the band.

Takes what the node's load may change by, and what each possible change brings and costs. Returns
the cheapest sets of changes, each with its cost. Does not look at other nodes. A change is a row
that leaves, which brings less than nothing, or a row that comes. Prices may be negative too.

The cheaper members of a set are chosen first. The dearest one is looked up in a table. For every
place in the plane of the first two resources the table has the cost of the cheapest change within
reach, so few sets are looked at one by one. Every engine adds sums up in the same order, so all
give the same answer, bit for bit.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from flex import native_or_python
from flex.placing.problem import Bools, Floats, Ints

# What a set costs, and its changes.
Sets = list[tuple[float, list[int]]]

# What sums of loads may be off by, in shares of a node.
INEXACT = 1e-9
# Cells of the table along the width of a band. A guess.
CELLS = 8
# Cells ahead of a cell that are in its reach: CELLS for the width of a band, and two because places
# and changes are rounded to whole cells.
AHEAD = 10
# Cells of the whole table, at most: it bounds the memory. A guess.
MOST_CELLS = 4_000_000
# Beginnings of sets that are looked at, at most. A guess.
BEGINNINGS = 2_000_000
# How many of those in reach are completed in one array. A guess.
AT_ONCE = 64
# Sets that are looked at one by one of those, at most, times the changes that each is tried with:
# up to a second. With many resources the table shows little, and nearly all are. A guess.
CHECKS = 100_000_000


@dataclass(frozen=True, slots=True, eq=False)
class Changes:
    """Change j brings `load[j]` and costs `price[j]`."""

    load: Floats
    price: Floats

    def __getitem__(self, which: Ints) -> Changes:
        return Changes(self.load[which], self.price[which])


@dataclass(frozen=True, slots=True, order=True)
class Remedy:
    price: float
    changes: tuple[int, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Remedies:
    """The cheapest of each size; of sets with no more members than `thorough` none that is cheaper
    was left out.
    """

    found: list[Remedy]
    thorough: int


def reference_sets(
    low: Floats, high: Floats, load: Floats, price: Floats, below: float, size: int, keep: int
) -> tuple[Sets, int]:
    """The fields of Remedies."""
    spared = max(0, size - 1) * min(0.0, float(price.min(initial=0.0)))
    cheap = np.flatnonzero(price < below - spared)
    by_price = cheap[np.argsort(price[cheap], kind="stable")]
    search = _Search(low - INEXACT, high + INEXACT, Changes(load, price)[by_price], below)
    best_remedies = search.alone(keep) if size else []
    for members in range(2, size + 1):
        begun = search.beginnings(members)
        if begun is None:
            return _name_changes(best_remedies, by_price), members - 1
        completed, is_whole = search.complete(begun, keep)
        best_remedies += completed
        if not is_whole:
            return _name_changes(best_remedies, by_price), members - 1
    return _name_changes(best_remedies, by_price), size


def _name_changes(best_remedies: list[Remedy], names: Ints) -> Sets:
    return [
        (remedy.price, sorted(names[list(remedy.changes)].tolist())) for remedy in best_remedies
    ]


class _Search:
    """Changes are in the order of their prices."""

    def __init__(self, low: Floats, high: Floats, changes: Changes, below: float) -> None:
        self._low, self._high, self._below = low, high, below
        self._load, self._price = changes.load, changes.price
        self._table = _Table(changes, (high - low)[:2]) if len(changes.price) else None

    def alone(self, keep: int) -> list[Remedy]:
        right = np.flatnonzero(
            _is_in_band(self._load, self._low, self._high) & (self._price < self._below)
        )[:keep]
        return [Remedy(float(self._price[j]), (j,)) for j in right.tolist()]

    def beginnings(self, members: int) -> Ints | None:
        """All sets without their dearest member that may cost less in the end; None where they are
        too many.
        """
        begun = np.empty((1, 0), dtype=np.int64)
        for left in range(members, 1, -1):
            after = begun[:, -1] + 1 if begun.shape[1] else np.zeros(1, dtype=np.int64)
            ends = np.searchsorted(self._price, (self._below - _sums(self._price, begun)) / left)
            counts = np.maximum(ends - after, 0)
            if counts.sum() > BEGINNINGS:
                return None
            nth = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
            begun = np.column_stack(
                [np.repeat(begun, counts, axis=0), np.repeat(after, counts) + nth]
            )
        return begun

    def complete(self, begun: Ints, keep: int) -> tuple[list[Remedy], bool]:
        """The cheapest sets that begin so, each with one more change, and whether all were looked
        at that may be.
        """
        if not len(begun) or self._table is None:
            return [], True
        so_far, load = _sums(self._price, begun), _sums(self._load, begun)
        in_reach = self._table.least(self._low - _sums(self._load, begun[:, :-1]), begun[:, -1])
        hoped = so_far + np.maximum(in_reach, self._price[begun[:, -1]])
        likely = np.flatnonzero(hoped < self._below)
        likely = likely[np.argsort(hoped[likely], kind="stable")]
        completed: set[Remedy] = set()
        checks = 0
        for part in np.split(likely, range(AT_ONCE, len(likely), AT_ONCE)):
            if len(completed) >= keep and hoped[part[0]] >= sorted(completed)[keep - 1].price:
                break
            checks += len(part) * len(self._price)
            if checks > CHECKS:
                break
            completed.update(self._add_last_change(begun[part], so_far[part], load[part]))
        return sorted(completed)[:keep], checks <= CHECKS

    def _add_last_change(self, begun: Ints, so_far: Floats, load: Floats) -> Iterator[Remedy]:
        right = _is_in_band(load[:, None] + self._load, self._low, self._high)
        right[np.arange(len(begun))[:, None], begun] = False
        last = right.argmax(axis=1)
        price = so_far + self._price[last]
        for n in np.flatnonzero(
            right[np.arange(len(begun)), last] & (price < self._below)
        ).tolist():
            yield Remedy(float(price[n]), tuple(sorted([*begun[n].tolist(), int(last[n])])))


class _Table:
    """What the cheapest change in reach costs: whatever is between a place and the band's width
    beyond it, and more.

    Places are whole cells here, and so is what a change brings: a place may come out AHEAD - CELLS
    cells too low.
    """

    def __init__(self, changes: Changes, width: Floats) -> None:
        load = changes.load[:, :2]
        reach = load.max(axis=0) - load.min(axis=0)
        self._width = np.maximum(width / CELLS, reach / MOST_CELLS ** (1 / len(width)))
        cell = np.floor(load / self._width).astype(np.int64)
        self._brings = np.ceil(load / self._width).astype(np.int64)
        self._first = cell.min(axis=0) - AHEAD - 1
        self._least = np.full(cell.max(axis=0) - self._first + 2, np.inf)
        np.minimum.at(self._least, tuple((cell - self._first).T), changes.price)
        for axis in range(len(width)):
            self._least = _least_ahead(self._least, axis)

    def least(self, place: Floats, change: Ints) -> Floats:
        """After one more change than the place knows of. The rim has cells that nothing is in reach
        of, for whatever is beyond it.
        """
        cells = [
            np.clip(
                np.floor(place[:, d] / width).astype(np.int64) - self._brings[change, d] - first,
                0,
                length - 1,
            )
            for d, (width, first, length) in enumerate(
                zip(self._width, self._first, self._least.shape, strict=True)
            )
        ]
        least_prices: Floats = self._least[tuple(cells)]
        return least_prices


def _sums(values: Floats, sets: Ints) -> Floats:
    """The sum of each set; column after column, which takes a tenth of the time of a sum along
    short rows.
    """
    total: Floats = np.zeros((len(sets), *values.shape[1:]))
    for column in sets.T:
        total = total + values[column]
    return total


def _least_ahead(least: Floats, axis: int) -> Floats:
    """The least of each cell and the AHEAD that follow along the axis."""
    lowest, ahead = least.copy(), np.moveaxis(least, axis, 0)
    for step in range(1, min(AHEAD, len(ahead) - 1) + 1):
        view = np.moveaxis(lowest, axis, 0)
        view[:-step] = np.minimum(view[:-step], ahead[step:])
    return lowest


def _is_in_band(load: Floats, low: Floats, high: Floats) -> Bools:
    """One resource after the other, which takes half the time of all at once."""
    inside = np.ones(load.shape[:-1], dtype=np.bool_)
    for d in range(load.shape[-1]):
        inside &= (load[..., d] >= low[d]) & (load[..., d] <= high[d])
    return inside


cheapest_sets = native_or_python.pick("cheapest_sets", reference_sets)


def remedies(
    low: Floats, high: Floats, changes: Changes, below: float, *, size: int, keep: int
) -> Remedies:
    """Sets of one to `size` changes that bring between `low` and `high` for less than `below`,
    `keep` of each size.
    """
    priced_sets, thorough = cheapest_sets(low, high, changes.load, changes.price, below, size, keep)
    return Remedies([Remedy(price, tuple(of_set)) for price, of_set in priced_sets], thorough)

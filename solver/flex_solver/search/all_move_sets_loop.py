"""The hot loop of all_move_sets.py: all ways to put some places right with few moves.

Takes plain arrays. Returns the moves of the best way found. Does not know sites or nodes. Loads are
floats that are added in one fixed order, and prices are whole numbers, so every engine gives the
same answer, bit for bit.

A way is put together move by move, each from or to the place outside its band that leaves the
fewest to choose from. A move that was looked at is banned from what goes on from the next one. What
is left to be paid is bounded from below: the node that a row leaves and the one it comes to share
the price of its move, so that each node pays for its own changes alone, whatever the others do, and
a table says for any load what it pays at least.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from flex import native_or_python

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]

# The price of a move. Whole numbers, so that every engine adds them up alike.
MOVE = 1_000
# A price that nobody pays. With four moves it is still below 2**16, the limit of the table.
DEAR = 60_000
# Cells of the table along the width of a band. A guess.
CELLS = 16.0
# Cells of the table along each resource, at most: it bounds the memory. A guess.
MOST_CELLS = 640.0
# Tables reach to so many times the largest load. A guess.
BEYOND = 1.5
# Steps from one look at the clock to the next. A guess.
NOW = 256


@dataclass(frozen=True, slots=True, eq=False)
class Puzzle:
    """Places carry `load`, which is to lie between `low` and `high`, in two dimensions at least.

    The first of them are nodes: changes `first_change[n]` to `first_change[n + 1]`, which a node
    may have once each, bring it `change` at a price of `change_price`. For each other place `off`
    is to be paid until it is right. Move m brings `asks[m]` of `site[m]`, at a price in all and
    with so many cold bytes, from one place to another; a `row` moves once, and a place takes a site
    once. There may be several prices, in a row each: all of them count.
    """

    load: Floats
    low: Floats
    high: Floats
    off: Ints
    first_change: Ints
    change: Floats
    change_price: Ints
    row: Ints
    site: Ints
    source: Ints
    target: Ints
    asks: Floats
    price: Ints
    cold: Ints


@dataclass(frozen=True, slots=True, eq=False)
class MoveSetLimits:
    """All moves together cost no more than each `price`, with no more than so many `cold` bytes: of
    such ways the one with the fewest, or `any`. No more than so many `steps` go into it, nor more
    `seconds`. `reads` is the part of each price for all the cold bytes that there may be: with
    fewer of them it is less.
    """

    price: tuple[int, ...]
    cold: int
    any: bool
    steps: int
    seconds: float
    reads: tuple[int, ...] = (0,)


def reference_sift(puzzle: Puzzle, wanted: MoveSetLimits) -> tuple[Ints | None, bool]:
    """The moves of the best way found, if there is one, and whether none was left out."""
    search = _Search(puzzle, wanted)
    every = search.run()
    return None if search.best is None else np.array(search.best, dtype=np.int64), every


class _Table:
    """The price of the cheapest changes of a node, for each cell of the loads from nothing to
    `top`.

    Up to three changes are what they are; of four, two might be the same. Five cost as much as the
    cheapest five.
    """

    def __init__(
        self, band: Floats, changes: Floats, prices: Ints, load: Floats, top: Floats
    ) -> None:
        self._low, self._high = band
        self._cell = np.maximum((self._high - self._low) / CELLS, top / MOST_CELLS)
        self._size = [int(size) + 1 for size in (top / self._cell).tolist()]
        ordered = np.sort(prices)
        single, three, five = (
            int(ordered[:count].sum()) if count <= len(ordered) else DEAR for count in (1, 3, 5)
        )
        self._any = single
        sums, paid = _sum_up_to_three(changes, prices)
        self._least = self._cheapest_in_reach(sums, paid)
        direct = paid[_is_in_band(load + sums, self._low, self._high)].min(initial=DEAR)
        four = (prices + self._places_seen(load + changes, three)).min(initial=DEAR)
        self.at_first = int(min(direct, four, five))
        self._add_one_change(changes, prices, three)
        self._least = np.minimum(self._least, five)

    def price_at_load(self, load: Floats) -> Ints:
        """For loads outside the band."""
        return np.maximum(self._places_seen(load, self._any), self._any)

    def _places_seen(self, load: Floats, far: int) -> Ints:
        place = np.floor(load / self._cell)
        inside = np.all((place >= 0) & (place < self._size), axis=1)
        row, column = np.where(inside[:, None], place, 0).astype(np.int64).T
        return np.where(inside, self._least[row, column], far)

    def _cheapest_in_reach(self, sums: Floats, paid: Ints) -> Ints:
        """The cheapest sum that brings a load somewhere in each cell into the band."""
        beyond = ((self._high - self._low) / self._cell).astype(np.int64) + 1
        least = np.full(self._size + beyond, DEAR)
        first = np.floor((self._low - sums) / self._cell) + beyond
        seen = np.all((first >= 0) & (first < least.shape), axis=1)
        np.minimum.at(least, tuple(first[seen].astype(np.int64).T), paid[seen])
        for axis, ahead in enumerate(beyond.tolist()):
            least = _least_ahead(least, axis, ahead)
        return least[: self._size[0], : self._size[1]]

    def _add_one_change(self, changes: Floats, prices: Ints, far: int) -> None:
        """A change leads from a cell to one of two in each direction; `far` is what three cost
        elsewhere.
        """
        rows, columns = self._size
        edged = np.full((rows + 1, columns + 1), far)
        edged[:rows, :columns] = self._least
        pooled = _least_ahead(_least_ahead(edged, 0, 1), 1, 1)[:rows, :columns]
        steps = np.floor(changes / self._cell).astype(np.int64)
        for (down, right), price in zip(steps.tolist(), prices.tolist(), strict=True):
            there = np.full((rows, columns), far)
            to = [
                slice(max(0, -step), max(0, min(size, size - step)))
                for step, size in ((down, rows), (right, columns))
            ]
            of = [
                slice(max(0, step), max(0, min(size, size + step)))
                for step, size in ((down, rows), (right, columns))
            ]
            there[to[0], to[1]] = pooled[of[0], of[1]]
            self._least = np.minimum(self._least, there + price)


def _sum_up_to_three(changes: Floats, prices: Ints) -> tuple[Floats, Ints]:
    """The sums of all sets of changes, and what they cost."""
    sums, paid = [np.zeros((1, 2)), changes], [np.zeros(1, dtype=np.int64), prices]
    for last in range(len(changes)):
        two, both = changes[last] + changes[:last], prices[last] + prices[:last]
        first, third = np.tril_indices(last, -1)
        sums += [two, two[first] + changes[third]]
        paid += [both, both[first] + prices[third]]
    return np.concatenate(sums), np.concatenate(paid)


def _is_in_band(load: Floats, low: Floats, high: Floats) -> Bools:
    within: Bools = np.all((load >= low) & (load <= high), axis=-1)
    return within


def _least_ahead(cells: Ints, axis: int, ahead: int) -> Ints:
    """The least of each cell and so many that follow along the axis."""
    lowest = np.moveaxis(cells.copy(), axis, 0)
    reach = 1
    while reach <= ahead:
        step = min(reach, ahead + 1 - reach)
        lowest[:-step] = np.minimum(lowest[:-step], lowest[step:])
        reach += step
    return np.moveaxis(lowest, 0, axis)


class _Search:
    def __init__(self, puzzle: Puzzle, wanted: MoveSetLimits) -> None:
        self._puzzle, self._wanted = puzzle, wanted
        self._bills = [_Bill(puzzle, number, most) for number, most in enumerate(wanted.price)]
        self._touching = [
            np.flatnonzero((puzzle.source == place) | (puzzle.target == place))
            for place in range(len(puzzle.load))
        ]
        self._load = puzzle.load.copy()
        self._banned = np.zeros(len(puzzle.row), dtype=np.bool_)
        self._moved = np.zeros(puzzle.row.max(initial=-1) + 1, dtype=np.bool_)
        self._taken = np.zeros((puzzle.site.max(initial=-1) + 1, len(puzzle.load)), dtype=np.bool_)
        self._chosen = list[int]()
        self._cold, self._steps = wanted.cold, wanted.steps
        self._until = time.monotonic() + wanted.seconds
        self.best: list[int] | None = None

    def run(self) -> bool:
        return any(bill.lower_bound > bill.most for bill in self._bills) or self._go_on(0)

    def _go_on(self, cold: int) -> bool:
        """Looks at all that goes on from the moves chosen; whether there were steps enough for
        that.
        """
        off = np.flatnonzero(~_is_in_band(self._load, self._puzzle.low, self._puzzle.high))
        if not len(off):
            self.best, self._cold = self._chosen.copy(), cold - 1
            for bill, most, reads in zip(
                self._bills, self._wanted.price, self._wanted.reads, strict=True
            ):
                bill.most = most - reads + _part(reads, self._cold, self._wanted.cold)
            return True
        if not self._steps or (self._steps % NOW == 0 and time.monotonic() > self._until):
            return False
        self._steps -= 1
        dearest_first = off[np.argsort(-self._bills[0].least[off], kind="stable")].tolist()
        nexts = min((self._nexts(place, cold) for place in dearest_first), key=len)
        every = all(self._try_out(move, cold) for move in nexts.tolist())
        self._banned[nexts] = False
        return every

    def _try_out(self, move: int, cold: int) -> bool:
        """What goes on from one more move, which is banned from then on; false when the steps are
        used up.
        """
        puzzle, its = self._puzzle, int(self._puzzle.cold[move])
        self._banned[move] = True
        if (self._wanted.any and self.best is not None) or cold + its > self._cold:
            return True
        ends = [int(puzzle.source[move]), int(puzzle.target[move])]
        load, before = self._load[ends], [bill.least[ends] for bill in self._bills]
        self._load[ends] = [load[0] - puzzle.asks[move], load[1] + puzzle.asks[move]]
        for bill in self._bills:
            bill.least[ends] = [
                int(bill.put_right(place, self._load[place][None])[0]) for place in ends
            ]
            bill.paid += int(bill.price[move])
        self._mark(move, made=True)
        every = self._go_on(cold + its)
        self._mark(move, made=False)
        self._load[ends] = load
        for bill, least in zip(self._bills, before, strict=True):
            bill.least[ends] = least
            bill.paid -= int(bill.price[move])
        return every

    def _mark(self, move: int, *, made: bool) -> None:
        puzzle = self._puzzle
        self._moved[puzzle.row[move]] = self._taken[puzzle.site[move], puzzle.target[move]] = made
        if made:
            self._chosen.append(move)
        else:
            self._chosen.pop()

    def _nexts(self, place: int, cold: int) -> Ints:
        """The moves that may be next at a place, those first after which least is to be paid."""
        puzzle, some = self._puzzle, self._touching[place]
        barred = (
            self._banned[some]
            | self._moved[puzzle.row[some]]
            | self._taken[puzzle.site[some], puzzle.target[some]]
        )
        some = some[~barred & (cold + puzzle.cold[some] <= self._cold)]
        left = self._load[puzzle.source[some]] - puzzle.asks[some]
        full = self._load[puzzle.target[some]] + puzzle.asks[some]
        after = [bill.lower_bound_after(some, left, full) for bill in self._bills]
        cheap = np.all(
            [its <= bill.most for bill, its in zip(self._bills, after, strict=True)], axis=0
        )
        next_moves: Ints = some[cheap][np.argsort(after[0][cheap], kind="stable")]
        return next_moves


def _part(whole: int, share: int, of: int) -> int:
    """Rounded up, and not less than nothing."""
    return max(0, -(-whole * share // max(1, of)))


class _Bill:
    """What is `paid` so far by one of the puzzle's prices, and what each place is still to pay at
    `least`.
    """

    def __init__(self, puzzle: Puzzle, number: int, most: int) -> None:
        self._puzzle, self.most, self.paid = puzzle, most, 0
        self.price, self._off = puzzle.price[number], puzzle.off[number]
        self._tables = _tables(puzzle, puzzle.change_price[number])
        self.least = self._price_of_each(np.arange(len(puzzle.load)), puzzle.load)
        for n, table in enumerate(self._tables):
            if not _is_in_band(puzzle.load[n], puzzle.low[n], puzzle.high[n]):
                self.least[n] = table.at_first

    @property
    def lower_bound(self) -> int:
        return self.paid + int(self.least.sum())

    def lower_bound_after(self, some: Ints, left: Floats, full: Floats) -> Ints:
        """What is paid at least once one of these moves is made, which leave the loads of their two
        places so.
        """
        source, target = self._puzzle.source[some], self._puzzle.target[some]
        after: Ints = self.lower_bound + self.price[some] - self.least[source] - self.least[target]
        return after + self._price_of_each(source, left) + self._price_of_each(target, full)

    def _price_of_each(self, place: Ints, load: Floats) -> Ints:
        least = np.zeros(len(place), dtype=np.int64)
        for number in np.unique(place).tolist():
            least[place == number] = self.put_right(number, load[place == number])
        return least

    def put_right(self, place: int, load: Floats) -> Ints:
        """What is paid at least to put a place right that carries so much."""
        right = _is_in_band(load, self._puzzle.low[place], self._puzzle.high[place])
        if place < len(self._tables):
            return np.where(right, 0, self._tables[place].price_at_load(load[:, :2]))
        return np.where(right, 0, self._off[place])


def _tables(puzzle: Puzzle, prices: Ints) -> list[_Table]:
    first = puzzle.first_change.tolist()
    top = BEYOND * np.maximum(puzzle.load, puzzle.high).max(axis=0, initial=0.0)
    return [
        _Table(
            np.stack([puzzle.low[n], puzzle.high[n]])[:, :2],
            puzzle.change[start:end, :2],
            prices[start:end],
            puzzle.load[n, :2],
            top[:2],
        )
        for n, (start, end) in enumerate(pairwise(first))
    ]


sift = native_or_python.pick("sift", reference_sift)

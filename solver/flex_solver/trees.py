"""Whether some places put each other right with one move fewer than they are: a tree of moves, one for each two joined.

In goes a Net; out come, for a set of its places, such moves, or the word that there are none. A tree is put together
from its leaves: a place whose own load, and what came to it from below, one move brings into the band hands the rest on
to the place above. What the places of a set can hand on together to the one above them is worked out once for all sets
that it is part of. A tree has a place in the middle, below which no part holds more than half of the others: only there
it is put together.

A set of places is a number, whose bits are theirs. The same net always gives the same moves; not all is looked at where
there is too much, and the word is then that nobody knows.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias

import numpy as np

from flex.problem import Floats, Ints
from flex_solver.net import Moves, Net

# What the places of a set may hand on in so many ways; ways compared at a time; and in all for one set.
WAYS, AT_ONCE, EFFORT = 2_000, 1_000_000, 40_000_000
# How many ways are kept for sets to come, and how many that clash are looked at.
KEPT, CLASHES = 1_500_000, 20
# Sets larger than this are not looked at in every way, larger ones than MOST not at all.
EXACT, MOST = 8, 9


class Word(Enum):
    NONE = "there are no such moves"
    UNKNOWN = "nobody knows"


# The rows that move and where they go, where there are such moves.
Found: TypeAlias = tuple[Ints, Ints] | Word


@dataclass(frozen=True, slots=True, eq=False)
class _Ways:
    """What a place gets from below: its load changes so, for so many cold bytes, by these moves of places joined."""

    change: Floats
    cold: Ints
    row: Ints
    to: Ints
    every: bool

    def __len__(self) -> int:
        return len(self.change)

    def __getitem__(self, which: Ints) -> _Ways:
        return _Ways(self.change[which], self.cold[which], self.row[which], self.to[which], self.every)

    def few(self, most: int) -> _Ways:
        """No more than so many, from the first to the last."""
        if len(self) <= most:
            return self
        some = self[np.arange(most) * len(self) // most]
        return _Ways(some.change, some.cold, some.row, some.to, every=False)


class Trees:
    def __init__(self, net: Net) -> None:
        self._net, self._twins = net, net.has_twins
        self._between: dict[tuple[int, int], Moves] = {}
        self._below: dict[tuple[int, int], _Ways] = {}
        self._known: dict[int, Found] = {}
        self._kept = 0

    def of(self, places: int) -> Found:
        if places not in self._known:
            self._known[places] = self._found(places)
        return self._known[places]

    def _found(self, places: int) -> Found:
        members, effort = members_of(places), EFFORT
        if len(members) > MOST:
            return Word.UNKNOWN
        every = len(members) <= EXACT
        for middle in members:
            for half in _halves(places & ~(1 << middle)):
                one, other = self._ways(half, middle), self._ways(places & ~(1 << middle) & ~half, middle)
                found = self._together(one, other, middle)
                if not isinstance(found, Word):
                    return found
                every &= one.every and other.every and found is Word.NONE
                effort -= len(one) * len(other)
                if effort < 0:
                    return Word.UNKNOWN
        return Word.NONE if every else Word.UNKNOWN

    def _together(self, one: _Ways, other: _Ways, middle: int) -> Found:
        """The moves with the fewest cold bytes of those seen first. Where all clash, twins left out might not."""
        answer = Word.NONE
        load, low, high = (edge[middle] for edge in (self._net.load, self._net.low, self._net.high))
        for first, second in _pairs(one.change, other.change, low - load, high - load):
            cold = one.cold[first] + other.cold[second]
            for best in np.argsort(cold, kind="stable")[:CLASHES].tolist():
                row = np.concatenate([one.row[first[best]], other.row[second[best]]])
                to = np.concatenate([one.to[first[best]], other.to[second[best]]])
                if not self._clash(row, to):
                    return row, to
            if self._twins or len(cold) > CLASHES:
                answer = Word.UNKNOWN
        return answer

    def _clash(self, row: Ints, to: Ints) -> bool:
        """Whether a row goes two ways, or two of a site to the same place."""
        there = set(zip(self._net.site[row].tolist(), to.tolist(), strict=True))
        return min(len(set(row.tolist())), len(there)) < len(row)

    def _ways(self, places: int, above: int) -> _Ways:
        """How a place's load changes when all of these are put right by trees that hang from it."""
        if not places:
            return _nothing(self._net.load.shape[1])
        if (known := self._below.get((places, above))) is not None:
            return known
        parts = [part for part in _subsets(places) if part & places & -places]
        found = [_product(self._tree(part, above), self._ways(places & ~part, above), WAYS) for part in parts]
        self._kept += len(ways := _joined(found).few(WAYS))
        if self._kept > KEPT:
            self._below.clear()
            self._kept = len(ways)
        self._below[places, above] = ways
        return ways

    def _tree(self, places: int, above: int) -> _Ways:
        """The same by one tree."""
        members = members_of(places)
        return _joined([self._handed(place, self._ways(places & ~(1 << place), place), above) for place in members])

    def _handed(self, place: int, below: _Ways, above: int) -> _Ways:
        """What is below a place, and the moves between it and the place above that put it right."""
        if (place, above) not in self._between:
            self._between[place, above] = self._net.between(place, above)
        moves, load = self._between[place, above], self._net.load[place] + below.change
        none, low, high = np.empty(0, dtype=np.int64), self._net.low[place], self._net.high[place]
        found = [(none, none), *_pairs(load, -moves.change, low, high)]
        way, move = (np.concatenate(part) for part in zip(*found, strict=True))
        return _Ways(
            change=moves.change[move],
            cold=below.cold[way] + moves.cold[move],
            row=np.column_stack([below.row[way], moves.row[move]]),
            to=np.column_stack([below.to[way], moves.to[move]]),
            every=below.every,
        ).few(WAYS)


def members_of(places: int) -> list[int]:
    return [place for place in range(places.bit_length()) if places >> place & 1]


def _subsets(places: int) -> Iterator[int]:
    """All but the empty one."""
    part = places
    while part:
        yield part
        part = (part - 1) & places


def _halves(places: int) -> list[int]:
    """Parts with half of the places, or one more: what hangs from a place in the middle always falls into such two."""
    count, lowest = places.bit_count(), places & -places
    half = count - count // 2
    even = [part for part in _subsets(places) if part.bit_count() == half and (count % 2 or part & lowest)] or [places]
    return even + [part for part in _subsets(places) if count % 2 == 0 and count > 5 and part.bit_count() == half + 1]


def _nothing(dimensions: int) -> _Ways:
    none = np.empty((1, 0), dtype=np.int64)
    return _Ways(np.zeros((1, dimensions)), np.zeros(1, dtype=np.int64), none, none, every=True)


def _joined(parts: list[_Ways]) -> _Ways:
    change, cold, row, to = (
        np.concatenate([getattr(part, name) for part in parts]) for name in ("change", "cold", "row", "to")
    )
    return _Ways(change, cold, row, to, all(part.every for part in parts))


def _product(one: _Ways, other: _Ways, most: int) -> _Ways:
    """Each way of one with each of the other, or some of them."""
    count = len(one) * len(other)
    some = np.arange(min(count, most)) * count // max(1, min(count, most))
    first, second = np.divmod(some, max(1, len(other)))
    return _Ways(
        change=one.change[first] + other.change[second],
        cold=one.cold[first] + other.cold[second],
        row=np.concatenate([one.row[first], other.row[second]], axis=1),
        to=np.concatenate([one.to[first], other.to[second]], axis=1),
        every=one.every and other.every and count <= most,
    )


def _pairs(one: Floats, other: Floats, low: Floats, high: Floats) -> Iterator[tuple[Ints, Ints]]:
    """The pairs whose sum lies between the two, some at a time."""
    step = max(1, AT_ONCE // max(1, len(other)))
    for start in range(0, len(one), step):
        some = one[start : start + step]
        fits = np.ones((len(some), len(other)), dtype=np.bool_)
        for d in range(one.shape[1]):
            both = some[:, d, None] + other[:, d]
            fits &= (both >= low[d]) & (both <= high[d])
        first, second = np.nonzero(fits)
        if len(first):
            yield first + start, second

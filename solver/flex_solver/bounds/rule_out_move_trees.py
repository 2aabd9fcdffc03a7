"""Whether some places can put each other right with one move fewer than there are places.

Takes a Net. Returns, for a set of its places, whether that is ruled out. Does not find the moves,
and rules nothing out where there is too much to look at. A set of places is a number: bit p stands
for place p.

Such moves form a tree, one move for each two places that are joined. A tree is put together from
its leaves. Each leaf has one move that brings it into the band; the rest of its load is handed on
to the place above, together with what came from below. The place above only needs to know which
move that was, because two moves clash only at a place that both change. What a set can hand on is
worked out once for all larger sets. A tree has a place in the middle below which no part holds more
than half of the other places: trees are put together only there.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from flex.placing.problem import Bools, Floats, Ints
from flex_solver.bounds.move_graph import LoadChanges, Net

# Ways in which the places of one set may hand on load, at most; with more the set
# is not ruled out. A guess.
WAYS = 5_000
# Pairs of ways that are compared in one array: it bounds the memory. A guess.
AT_ONCE = 1_000_000
# Ways that are kept for sets to come: it bounds the memory. A guess.
KEPT = 1_500_000
# Places in the largest sets that are looked at. A guess.
EXACT = 8


class Trees:
    def __init__(self, net: Net) -> None:
        self._net = net
        self._moves: dict[tuple[int, int], LoadChanges] = {}
        self._trees: dict[tuple[int, int], LoadChanges] = {}
        self._below: dict[tuple[int, int], LoadChanges | None] = {}
        self._kept = 0

    def rules_out(self, places: int) -> bool:
        members = members_of(places)
        return len(members) <= EXACT and not any(
            self._around(middle, places & ~(1 << middle)) for middle in members
        )

    def _around(self, middle: int, places: int) -> bool:
        """Whether the places may form trees of no more than half of them that put the one in the
        middle right.
        """
        low, high = (
            edge[middle] - self._net.load[middle] for edge in (self._net.low, self._net.high)
        )
        for half in _halves(places):
            one, other = self._ways(half, middle), self._ways(places & ~half, middle)
            if _empty(one) or _empty(other):
                continue
            if one is None or other is None or any(True for _ in _pairs(one, other, low, high)):
                return True
        return False

    def _ways(self, places: int, above: int) -> LoadChanges | None:
        """How a place's load changes when all of these are put right by trees that hang from it;
        None: too many.
        """
        if not places:
            return LoadChanges(
                np.zeros((1, self._net.load.shape[1])), np.empty((1, 0), dtype=np.int64)
            )
        if (places, above) not in self._below:
            ways = self._worked_out(places, above)
            self._make_room(len(ways or ()))
            self._below[places, above] = ways
        return self._below[places, above]

    def _worked_out(self, places: int, above: int) -> LoadChanges | None:
        found, count = list[LoadChanges](), 0
        for part in _subsets(places):
            if not part & places & -places or not len(tree := self._tree(part, above)):
                continue
            others = self._ways(places & ~part, above)
            if others is None or (count := count + len(tree) * len(others)) > WAYS:
                return None
            found.append(_product(tree, others))
        return _join(found, places.bit_count(), self._net.load.shape[1])

    def _tree(self, places: int, above: int) -> LoadChanges:
        """The same by one tree."""
        if (places, above) not in self._trees:
            found = [
                self._moves_to_parent(place, places & ~(1 << place), above)
                for place in members_of(places)
            ]
            ways = _join(found, 1, self._net.load.shape[1])
            self._make_room(len(ways))
            self._trees[places, above] = ways
        return self._trees[places, above]

    def _moves_to_parent(self, place: int, below: int, above: int) -> LoadChanges:
        """The moves between a place and the one above that put it right, with what is below."""
        if (place, above) not in self._moves:
            self._moves[place, above] = self._net.between(place, above)
        ways, moves = self._ways(below, place), self._moves[place, above]
        if ways is None:
            return moves
        low, high = (
            edge[place] - self._net.load[place] for edge in (self._net.low, self._net.high)
        )
        back = LoadChanges(-moves.change, moves.keys)
        able = np.zeros(len(moves), dtype=np.bool_)
        for first, _ in _pairs(back, ways, low, high):
            able[first] = True
        return moves[able]

    def _make_room(self, ways: int) -> None:
        self._kept += ways
        if self._kept > KEPT:
            self._trees.clear()
            self._below.clear()
            self._kept = ways


def members_of(places: int) -> list[int]:
    return [place for place in range(places.bit_length()) if places >> place & 1]


def _empty(ways: LoadChanges | None) -> bool:
    return ways is not None and not len(ways)


def _subsets(places: int) -> Iterator[int]:
    """All but the empty one."""
    part = places
    while part:
        yield part
        part = (part - 1) & places


def _halves(places: int) -> list[int]:
    """Parts with half of the places, or one more: what hangs from a place in the middle always
    falls into such two.
    """
    count, lowest = places.bit_count(), places & -places
    half = count - count // 2
    even = [
        part
        for part in _subsets(places)
        if part.bit_count() == half and (count % 2 or part & lowest)
    ] or [places]
    return even + [
        part
        for part in _subsets(places)
        if count % 2 == 0 and count > 5 and part.bit_count() == half + 1
    ]


def _join(parts: list[LoadChanges], most: int, dimensions: int) -> LoadChanges:
    """In the order of the first resource; `most` moves make up a way at most."""
    change = np.concatenate([np.empty((0, dimensions)), *(part.change for part in parts)])
    keys = np.full((len(change), 2 * most), -1)
    first = 0
    for part in parts:
        keys[first : first + len(part), : part.keys.shape[1]] = part.keys
        first += len(part)
    return LoadChanges(change, keys)[np.argsort(change[:, 0], kind="stable")]


def _product(one: LoadChanges, other: LoadChanges) -> LoadChanges:
    first, second = np.divmod(np.arange(len(one) * len(other)), max(1, len(other)))
    apart = ~_clash(one.keys[first], other.keys[second])
    first, second = first[apart], second[apart]
    return LoadChanges(
        one.change[first] + other.change[second],
        np.concatenate([one.keys[first], other.keys[second]], axis=1),
    )


def _clash(one: Ints, other: Ints) -> Bools:
    clash = np.zeros(len(one), dtype=np.bool_)
    for key in one.T:
        for its in other.T:
            clash |= (key == its) & (key >= 0)
    return clash


def _pairs(
    one: LoadChanges, other: LoadChanges, low: Floats, high: Floats
) -> Iterator[tuple[Ints, Ints]]:
    """The pairs that can be had at once and come to lie between the two, some at a time; the others
    are in order.
    """
    sizes = other.change[:, 0]
    starts = np.searchsorted(sizes, low[0] - one.change[:, 0])
    counts = np.maximum(
        np.searchsorted(sizes, high[0] - one.change[:, 0], side="right") - starts, 0
    )
    step = max(1, AT_ONCE // max(1, len(other)))
    for begin in range(0, len(one), step):
        count = counts[begin : begin + step]
        first = begin + np.repeat(np.arange(len(count)), count)
        nth = np.arange(count.sum()) - np.repeat(np.cumsum(count) - count, count)
        second = starts[first] + nth
        fits = np.ones(len(first), dtype=np.bool_)
        for d in range(1, len(low)):
            both = one.change[first, d] + other.change[second, d]
            fits &= (both >= low[d]) & (both <= high[d])
        first, second = first[fits], second[fits]
        apart = ~_clash(one.keys[first], other.keys[second])
        if apart.any():
            yield first[apart], second[apart]

"""The least number of moves for a cluster with few nodes, by the trees that its moves form.

Takes a Problem. Returns a number of moves that no balanced partition can stay under. Does not find
a partition, and is only for clusters for which is_small() is true.

Why the number is a bound. Take the places of move_graph.py as points, and draw a line between two
of them for each move of a balanced partition. A connected part of k places has at least k - 1
moves. It has exactly k - 1 only if it is a tree. So there are at least as many moves as places,
less the number of trees.

A tree puts all its places right, and no two trees share a place. So the number of trees is at most
the number of sets of places that can be chosen such that no two share a place, and such that none
of them is ruled out as below. Where one set lies within another, only the smaller one has to be
looked at. A row that vanishes is no move. The moves of sites without load are added.

A set is ruled out where its places cannot put each other right with one move fewer than there are
places. Where there is too much to look at, nothing is ruled out. A set of places is a number: bit p
stands for place p. Moves that put a set right so form a tree, one move for each two places that are
joined. A tree is put together from its leaves. Each leaf has one move that brings it into the band;
the rest of its load is handed on to the place above, together with what came from below. The place
above only needs to know which move that was, because two moves clash only at a place that both
change. What a set can hand on is worked out once for all larger sets. A tree has a place in the
middle below which no part holds more than half of the other places: trees are put together only
there.
"""

from __future__ import annotations

from collections.abc import Iterator
from threading import Event

import numpy as np

from flex.placing.problem import Bools, Floats, Ints, Problem
from flex_solver.bounds import counting
from flex_solver.bounds.move_graph import LoadChanges, Net, net
from flex_solver.wishes_as_row_rules import RowRules

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
            self._may_be_centre(middle, places & ~(1 << middle)) for middle in members
        )

    def _may_be_centre(self, middle: int, places: int) -> bool:
        """Whether the places may form trees of no more than half of them that put the one in the
        middle right.
        """
        low, high = (
            edge[middle] - self._net.load[middle] for edge in (self._net.low, self._net.high)
        )
        for half in _halves(places):
            half_ways, other = self._ways(half, middle), self._ways(places & ~half, middle)
            if _empty(half_ways) or _empty(other):
                continue
            if (
                half_ways is None
                or other is None
                or any(True for _ in _pairs(half_ways, other, low, high))
            ):
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
        ways, count = list[LoadChanges](), 0
        for part in _subsets(places):
            if not part & places & -places or not len(tree := self._tree(part, above)):
                continue
            others = self._ways(places & ~part, above)
            if others is None or (count := count + len(tree) * len(others)) > WAYS:
                return None
            ways.append(_product(tree, others))
        return _join(ways, places.bit_count(), self._net.load.shape[1])

    def _tree(self, places: int, above: int) -> LoadChanges:
        """The same by one tree."""
        if (places, above) not in self._trees:
            branches = [
                self._moves_to_parent(place, places & ~(1 << place), above)
                for place in members_of(places)
            ]
            ways = _join(branches, 1, self._net.load.shape[1])
            self._make_room(len(ways))
            self._trees[places, above] = ways
        return self._trees[places, above]

    def _moves_to_parent(self, place: int, below: int, above: int) -> LoadChanges:
        """The moves between a place and the one above that put it right, with what is below."""
        if (place, above) not in self._moves:
            self._moves[place, above] = self._net.moves_between(place, above)
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


def _product(changes: LoadChanges, other: LoadChanges) -> LoadChanges:
    first, second = np.divmod(np.arange(len(changes) * len(other)), max(1, len(other)))
    apart = ~_clash(changes.keys[first], other.keys[second])
    first, second = first[apart], second[apart]
    return LoadChanges(
        changes.change[first] + other.change[second],
        np.concatenate([changes.keys[first], other.keys[second]], axis=1),
    )


def _clash(keys: Ints, other: Ints) -> Bools:
    clash = np.zeros(len(keys), dtype=np.bool_)
    for key in keys.T:
        for its in other.T:
            clash |= (key == its) & (key >= 0)
    return clash


def _pairs(
    changes: LoadChanges, other: LoadChanges, low: Floats, high: Floats
) -> Iterator[tuple[Ints, Ints]]:
    """The pairs that can be had at once and come to lie between the two, some at a time; the others
    are in order.
    """
    sizes = other.change[:, 0]
    starts = np.searchsorted(sizes, low[0] - changes.change[:, 0])
    counts = np.maximum(
        np.searchsorted(sizes, high[0] - changes.change[:, 0], side="right") - starts, 0
    )
    step = max(1, AT_ONCE // max(1, len(other)))
    for begin in range(0, len(changes), step):
        count = counts[begin : begin + step]
        first = begin + np.repeat(np.arange(len(count)), count)
        nth = np.arange(count.sum()) - np.repeat(np.cumsum(count) - count, count)
        second = starts[first] + nth
        fits = np.ones(len(first), dtype=np.bool_)
        for d in range(1, len(low)):
            both = changes.change[first, d] + other.change[second, d]
            fits &= (both >= low[d]) & (both <= high[d])
        first, second = first[fits], second[fits]
        apart = ~_clash(changes.keys[first], other.keys[second])
        if apart.any():
            yield first[apart], second[apart]


# Places, at most: there is a table of all sets of them, 2**18 entries. A guess.
PLACES = 18
# Rows times open nodes, at most: there is a table of all moves between two nodes. A guess.
ROWS = 1_000_000
# Places in the largest sets that are always looked at; larger sets only where they might make for
# more trees. A guess.
COMMON = 6
# The effort to look at one set of 1, 2 ... 9 places, in units of a set of one. A guess.
EFFORT = (1, 2, 4, 10, 25, 120, 400, 700, 1_000)
# The effort that all sets together may take, in the same unit: a few seconds. A guess.
EFFORTS = 4_000_000


def is_small(problem: Problem) -> bool:
    """Whether there are few places, and every new row counts as one move."""
    opened, asking = int(problem.open.sum()), problem.load.any(axis=1)
    places = opened + int(np.abs(RowRules(problem).lacking)[asking].sum())
    alike = problem.weight is None and (problem.partly is None or not len(problem.partly))
    return (
        alike and 1 < places <= PLACES and len(problem.old) * opened <= ROWS and bool(asking.any())
    )


def least(problem: Problem, unwanted: Event | None = None) -> int:
    """Nothing is said once it is `unwanted`."""
    places = net(problem)
    alone = len(places) - places.vanishing + counting.idle(problem)
    return alone - _Sets(places, unwanted or Event()).most


class _Sets:
    """All sets of places as numbers: how large they are, which could be balanced, how many trees
    fit into each.

    `most` is a number of trees that is not exceeded. `trees_in` counts those of up to EXACT places,
    as far as they are wanted: more than `most` are not to be had with the others.
    """

    def __init__(self, places: Net, unwanted: Event) -> None:
        trees = Trees(places)
        self.size = _sums(np.ones((len(places), 1)))[:, 0].astype(np.int64)
        load, low, high = (_sums(edge) for edge in (places.load, places.low, places.high))
        self.balanced: Bools = np.all((load >= low) & (load <= high), axis=1)
        self.trees_in = np.zeros(len(self.size), dtype=np.int64)
        seen, left, parts = 0, EFFORTS, list[int]()
        for size in range(1, min(EXACT, len(places)) + 1):
            wanted = self._possible_trees(size).tolist()
            left -= len(wanted) * EFFORT[size - 1]
            if left < 0:
                break
            seen = size
            possible = [part for part in wanted if not (unwanted.is_set() or trees.rules_out(part))]
            if unwanted.is_set():
                self.most = len(places)
                return
            if possible:
                parts += possible
                self.trees_in = _most_sets_that_fit(len(places), parts)
        self.most = max(
            [int(self.trees_in[-1]), *map(self._most_trees_with, range(seen + 1, len(places) + 1))]
        )

    def _room(self, least: int) -> Ints:
        """The most trees that fit into each set, if those not counted have `least` places."""
        top = np.zeros(int(self.size[-1]) + 1, dtype=np.int64)
        np.maximum.at(top, self.size, self.trees_in)
        top = np.maximum.accumulate(top)
        for size in range(least, len(top)):
            top[size] = max(top[size], top[size - least] + 1)
        return np.maximum(self.trees_in, np.where(self.size < least, 0, top[self.size]))

    def _possible_trees(self, size: int) -> Ints:
        """Sets that might be trees, with none in them that is known, and leave room for as many
        others as are known.
        """
        some: Ints = np.flatnonzero(self.balanced & (self.size == size) & (self.trees_in == 0))
        others = len(self.size) - 1 - some
        with_it = self._room(size)[others] + 1
        return np.asarray(some[with_it >= self.trees_in[-1] + (size > COMMON)])

    def _most_trees_with(self, size: int) -> int:
        """How many trees there may be, if one has so many places, which were not looked at, and
        none has fewer.
        """
        some = self._possible_trees(size)
        return int((self._room(size)[len(self.size) - 1 - some] + 1).max(initial=0))


def _sums(of_place: Floats) -> Floats:
    """The sums over all sets."""
    sums = np.zeros((1, of_place.shape[1]))
    for place in of_place:
        sums = np.concatenate([sums, sums + place])
    return sums


def _most_sets_that_fit(places: int, parts: list[int]) -> Ints:
    """How many of the sets found fit into each set, none having a place in common with another."""
    most = np.zeros(1 << places, dtype=np.int64)
    for lowest in range(places - 1, -1, -1):
        sets = np.arange(1 << (places - 1 - lowest)) << (lowest + 1) | 1 << lowest
        count = most[sets ^ 1 << lowest]
        for part in (part for part in parts if part & -part == 1 << lowest):
            count = np.where(sets & part == part, np.maximum(count, most[sets & ~part] + 1), count)
        most[sets] = count
    return most

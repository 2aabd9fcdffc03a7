"""The least number of moves for a cluster with few nodes, by the trees that its moves form.

Takes a Problem. Returns a number of moves that no balanced partition can stay under. Does not find
a partition, and is only for clusters for which is_small() is true.

Why the number is a bound. Take the places of move_graph.py as points, and draw a line between two
of them for each move of a balanced partition. A connected part of k places has at least k - 1
moves. It has exactly k - 1 only if it is a tree. So there are at least as many moves as places,
less the number of trees.

A tree puts all its places right, and no two trees share a place. So the number of trees is at most
the number of sets of places that can be chosen such that no two share a place, and such that
rule_out_move_trees.py rules none of them out. Where one set lies within another, only the smaller
one has to be looked at. A row that vanishes is no move. The moves of sites without load are added.
"""

from __future__ import annotations

from threading import Event

import numpy as np

from flex.placing.problem import Bools, Floats, Ints, Problem
from flex_solver.bounds import counting
from flex_solver.bounds.move_graph import Net, net
from flex_solver.bounds.rule_out_move_trees import EXACT, Trees
from flex_solver.wishes_as_row_rules import RowRules

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
        seen, left, found = 0, EFFORTS, list[int]()
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
                found += possible
                self.trees_in = _most_sets_that_fit(len(places), found)
        self.most = max(
            [int(self.trees_in[-1]), *map(self._with_one_of, range(seen + 1, len(places) + 1))]
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

    def _with_one_of(self, size: int) -> int:
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


def _most_sets_that_fit(places: int, found: list[int]) -> Ints:
    """How many of the sets found fit into each set, none having a place in common with another."""
    most = np.zeros(1 << places, dtype=np.int64)
    for lowest in range(places - 1, -1, -1):
        sets = np.arange(1 << (places - 1 - lowest)) << (lowest + 1) | 1 << lowest
        count = most[sets ^ 1 << lowest]
        for part in (part for part in found if part & -part == 1 << lowest):
            count = np.where(sets & part == part, np.maximum(count, most[sets & ~part] + 1), count)
        most[sets] = count
    return most

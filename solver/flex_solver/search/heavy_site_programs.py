"""Decides the heaviest sites of a cluster of few nodes by integer programs.

Takes a Problem and the bound of a search. Keeps the best partition found, and raises the bound.
Does not search in any other way: large.py does. Moves of the heaviest sites do most for the
balance, so a program over some hundreds of them, with all others where they are, has few moves. The
same sites with the others as sums give a bound. One thread looks for fewer moves, another one
proves meanwhile that fewer than are known cannot do. They wait for each other, so that the answer
does not depend on which of them is faster, as long as time is not up; once the moves are proven
fewest both end.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import pairwise

import numpy as np

from flex.placing import score
from flex.placing.problem import Floats, Ints, MoveLimits, Problem, sort_by_site
from flex_solver.bounds.linear import Relaxed
from flex_solver.bounds.pinned_problem import keep_pins
from flex_solver.bounds.program_of_heaviest import (
    Cells,
    bound_with_others_as_sums,
    cells_of,
    program_for_fewer_cold_bytes,
    program_with_others_fixed,
)
from flex_solver.bounds.rising_move_bound import RisingBound
from flex_solver.programs import highs_proof
from flex_solver.search.choose_rows_to_search import make_some_movable
from flex_solver.search.partition_in_integers import Placed
from flex_solver.search.starts import Start
from flex_solver.wishes_as_row_rules import RowRules

# Open nodes, at most: with more the programs take too long. A guess.
FEW_NODES = 24
# How many sites are decided, one program after another. A guess.
SIZES = (200, 400, 800)
# Nodes of HiGHS's search tree at first, and how many times as many it has in each round. Guesses.
FIRST_TREE = 20
LARGER_TREE = 4
# What a node of the tree costs in the budget's steps, and a site on a node that it is asked about.
# Guesses.
STEPS_OF_A_NODE = 500
STEPS_OF_A_CELL = 4
# Moves are few up to so many times the bound. A guess.
FEW_MOVES = 1.25
# The part of the time that is kept for fewer cold bytes, the part of the time left that this takes
# where that is more, and the most new rows that are looked at. Guesses.
FOR_COLDER = 0.05
FOR_COLDER_LEFT = 0.3
MOST_MOVED = 400
# Half of what a column is that is chosen.
HALF = 0.5
# What HiGHS's word may be off by, as a part of it.
INEXACT = 1e-6


def may_decide(problem: Problem) -> bool:
    """Where nothing is in force all partitions have as many moves."""
    is_asked = len(problem.old) > 0 and bool(problem.load.any())
    return is_asked and 1 < problem.open.sum() <= FEW_NODES


class HeaviestSites:
    """The `best` partition so far, with so many `moves`. `sizes` are how many sites of the order
    each program decides, those first that must be. Where it `is_cut`, time was up before an end.
    Where it `is_impossible`, no partition is balanced.
    """

    def __init__(
        self, problem: Problem, known: Relaxed, start: Start, bound: RisingBound, steps: int
    ) -> None:
        pins = keep_pins(problem)
        self._problem, self._kept, self._pinned = problem, pins.problem, pins.moves
        self._known, self._bound = known, bound
        self._most_nodes = max(FIRST_TREE, steps // STEPS_OF_A_NODE)
        self._kept_back = FOR_COLDER * (bound.until - time.monotonic())
        self._end = bound.until - self._kept_back
        self._until = self._end
        self._start = start.rows
        self._order, self.first = _order_sites(self._kept, start.doubt)
        every = len(self._order)
        sizes = [size for size in SIZES if 2 * size < every] + [min(every, SIZES[-1])]
        self._most_cells = steps // STEPS_OF_A_CELL
        self.sizes = [
            size
            for size in dict.fromkeys(sizes)
            if size >= self.first and size * problem.open.sum() <= self._most_cells
        ]
        self.best: Placed | None = None
        self.moves = math.inf
        self.is_cut = self.is_impossible = False
        self._asked = set[tuple[int, int, float]]()
        self.take(self._start)

    def decide(self, share: float, *, largest_first: bool = False) -> None:
        """Decides more and more sites, or less and less, then all again with larger trees, as long
        as that may lead to more. Takes that share of the time left, or all where the moves are few
        by then.
        """
        sizes = self.sizes[::-1] if largest_first else self.sizes
        now = time.monotonic()
        self._until = now + share * (self._end - now)
        nodes, to_place, to_prove = FIRST_TREE, set(self.sizes), set(self.sizes)
        with ThreadPoolExecutor(2) as pool:
            while to_place | to_prove and nodes <= self._most_nodes:
                # The first size is proven beside itself, and again once moves are known.
                for before, size in pairwise((sizes[0], *sizes, 0)):
                    if self._is_done():
                        return
                    placing = pool.submit(self.place, size, nodes, to_place)
                    self.prove(before, nodes, to_prove)
                    placing.result()
                nodes *= LARGER_TREE

    @property
    def has_ended(self) -> bool:
        """Whether nobody else has time, or needs any."""
        return self._bound.is_met or time.monotonic() > self._end

    def _is_done(self) -> bool:
        """Where the moves are few for the bound, nobody else need search."""
        if self._bound.is_met or self.is_impossible:
            return True
        is_near = self.moves <= FEW_MOVES * self._bound.least
        is_over = time.monotonic() > (self._end if is_near else self._until)
        self.is_cut |= is_over
        return is_over

    def place(self, size: int, nodes: int, wanted: set[int]) -> None:
        """Looks for fewer moves with the sites that are not decided where they are in the best.
        Those that are moved there are decided too. The size is wanted no more once a larger tree
        has nothing to add.
        """
        if size not in wanted:
            return
        rows = self._start if self.best is None else self.best.rows
        cells = self._cells(np.union1d(self._order[:size], self._sites_moved(rows)))
        others = _rows_of_other_sites(cells, rows)
        least = highs_proof.least_of(
            program_with_others_fixed(self._kept, cells, others),
            nodes,
            self._end,
            lambda _: self._is_done(),
            lambda values: self.take(_rows(cells, others, values)),
            None if self.best is None else self._values(cells, rows),
        )
        if least.is_all:
            wanted.discard(size)

    def prove(self, size: int, nodes: int, wanted: set[int]) -> None:
        """Where a partition is known, the program is asked for one with fewer moves alone."""
        moves = self.moves
        if size not in wanted or (size, nodes, moves) in self._asked:
            return
        self._asked.add((size, nodes, moves))
        cells = self._cells(self._order[:size])
        bound = bound_with_others_as_sums(self._kept, cells, moves - self._pinned)
        spent = bound.spent + self._pinned
        proof = highs_proof.least_of(bound.program, nodes, self._end, self._ends_proof(spent))
        if proof.is_all:
            wanted.discard(size)
        # Where nothing has fewer moves, so many are needed.
        if math.isfinite(proof.cost):
            inexact = INEXACT * (1 + abs(proof.cost))
            self._bound.raise_to(math.ceil(proof.cost - inexact) + spent)
        elif proof.cost > 0 and moves < math.inf:
            self._bound.raise_to(int(moves))
        elif proof.cost > 0:
            self.is_impossible = self.best is None

    def _ends_proof(self, spent: int) -> Callable[[float], bool]:
        def ends(least: float) -> bool:
            proven = least - INEXACT * (1 + abs(least)) + spent
            return proven > self.moves - 1 or self._is_done()

        return ends

    def colder(self, placed: Placed) -> Placed:
        """As many moves or fewer, for fewer cold bytes, in the time that is kept for that, or in a
        part of what is left.
        """
        movable = placed.items.site[placed.items.movable]
        left = self._bound.until - time.monotonic()
        seconds = min(left, max(self._kept_back, FOR_COLDER_LEFT * left)) / 2
        for sites in (self._order[: SIZES[0]], movable):
            placed = self._colder(placed, sites, seconds)
        return placed

    def _colder(self, placed: Placed, sites: Ints, seconds: float) -> Placed:
        rows, moved = placed.rows, self._sites_moved(placed.rows)
        if not len(moved):
            return placed
        cells = self._cells(np.union1d(moved, sites))
        if len(cells.site) > self._most_cells:
            return placed
        others = _rows_of_other_sites(cells, rows)
        coldest = [placed]

        def take(values: Floats) -> None:
            other = self._place_as_judged(_rows(cells, others, values))
            if other is not None and other.merit() < coldest[-1].merit():
                coldest.append(other)

        hint = self._values(cells, rows)
        highs_proof.least_of(
            program_for_fewer_cold_bytes(self._kept, cells, others, hint),
            FIRST_TREE,
            time.monotonic() + seconds,
            lambda _: False,
            take,
            hint,
        )
        return coldest[-1]

    def _sites_moved(self, rows: Ints) -> Ints:
        """The sites that are moved, where they are not many."""
        moved = score.new_rows(self._problem, rows)[:, 0]
        return moved[: len(moved) * (len(moved) <= MOST_MOVED)]

    def _cells(self, sites: Ints) -> Cells:
        return cells_of(self._kept, np.sort(sites))

    def _values(self, cells: Cells, rows: Ints) -> Floats:
        nodes = len(self._kept.nodes)
        return np.isin(cells.site * nodes + cells.node, rows[:, 0] * nodes + rows[:, 1]).astype(
            np.float64
        )

    def go_on_from(self, rows: Ints) -> None:
        """What is not decided is where it is in the best; as long as there is none, in these."""
        self._start = rows
        self.take(rows)

    def take(self, rows: Ints) -> None:
        """The rows, where they are balanced and have fewer moves."""
        moves = score.moves(self._problem, rows)
        if moves < self.moves and (placed := self._place_as_judged(rows)) is not None:
            self.best, self.moves = placed, moves
            self._bound.note_found(moves)

    def _place_as_judged(self, rows: Ints) -> Placed | None:
        """None where the judge says no: searches have wider bands for nodes that pins make too
        full.
        """
        if score.violations(replace(self._problem, limits=MoveLimits()), rows):
            return None
        placed = make_some_movable(self._problem, self._known, rows)
        return None if placed.merit()[0] else placed


def _rows_of_other_sites(cells: Cells, rows: Ints) -> Ints:
    return rows[~np.isin(rows[:, 0], cells.sites)]


def _rows(cells: Cells, others: Ints, values: Floats) -> Ints:
    return sort_by_site(np.concatenate([others, cells.rows[values > HALF]]))


def _order_sites(problem: Problem, doubt: Floats | None) -> tuple[Ints, int]:
    """The sites that ask for anything, those of most doubt first, or the heaviest. Before them all
    that have rows to spare or share a node with one that they are to be apart from; and how many
    these are.
    """
    rules = RowRules(problem)
    weight = problem.load.max(axis=1)
    first = (rules.lacking < 0) & (weight > 0)
    staying = problem.old[rules.may_stay]
    for group in problem.apart:
        rows = staying[np.isin(staying[:, 0], list(group))]
        count = np.bincount(rows[:, 1], minlength=len(problem.nodes))
        first[rows[count[rows[:, 1]] > 1, 0]] = True
    able = np.flatnonzero(first | (weight > 0))
    before = weight if doubt is None else doubt
    order: Ints = able[np.lexsort((able, -weight[able], -before[able], ~first[able]))]
    return order, int(np.count_nonzero(first))

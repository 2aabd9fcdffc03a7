"""Takes blocks of nodes out of a partition and solves each of them anew, again and again.

Takes a partition, a bound that rises meanwhile, and a number of steps. Returns a partition with as
few moves or fewer. Does not solve a block itself: solve_few_nodes_exactly.py does, with HiGHS. The
nodes of a block are those that moves connect. Blocks that share no node are solved at the same
time. It ends when the moves are as few as the bound, when the steps are used up, or when no block
gets better. The same moves and random generator always give the same blocks.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace

import numpy as np

from flex.placing.problem import Bools, Ints
from flex_solver.bounds.linear import Relaxed
from flex_solver.bounds.rising_move_bound import RisingBound
from flex_solver.rows_to_solution import LATE
from flex_solver.search import solve_few_nodes_exactly
from flex_solver.search.anneal import changes
from flex_solver.search.choose_rows_to_search import make_some_movable
from flex_solver.search.partition_in_integers import Placed

# How often a block grows along moves of its nodes, rather than by a move from elsewhere. A guess.
ALONG = 0.6


# A block costs as much as so many changes that the search before it tries. A guess.
STEPS_OF_A_BLOCK = 400
# Nodes in a block; the next size is tried when the one before finds nothing more. A guess.
SIZES = (4, 6, 8, 10)
# Blocks that are chosen together and may be solved at the same time. A guess; it is no number of
# threads, so that the answer does not depend on the machine.
ABREAST = 4
# Blocks that are drawn, at most, to find some that were not tried before. Where none is found the
# next size is taken. A guess.
DRAWS = 30


def improve_blocks(
    start: Placed,
    known: Relaxed,
    bound: RisingBound,
    steps: int,
    threads: int,
    rising: Future[None],
) -> tuple[Placed, str]:
    """The best partition found, and a note where time was up before an end.

    `rising` is the work that makes the bound higher meanwhile. Where the moves are proven fewest,
    the first partition with so few is returned, so that it makes no difference when the proof came.
    """
    search = _Blocks(start, bound, steps)
    late = _solve_again(search, threads, rising)
    if late:
        bound.stop()
    rising.result()
    if bound.is_met and not search.best.merit()[0]:
        return search.first[bound.moves], late if search.is_cut else ""
    if bound.rows is not None:
        return make_some_movable(bound.problem, known, bound.rows), late
    if bound.late and not late:
        late = f"{LATE} for a better bound: another run may have one"
    return search.best, late


def _solve_again(search: _Blocks, threads: int, rising: Future[None]) -> str:
    """Solves blocks until none is wanted. Returns a note where time ran out before.

    The work that makes the bound higher has a core of its own until it is done.
    """
    with ThreadPoolExecutor(threads) as every, ThreadPoolExecutor(max(1, threads - 1)) as others:
        for size in SIZES:
            while search.is_cut or search.choose(size):
                if search.is_cut or not search.bound.has_time:
                    return (
                        f"{LATE} after {search.solved} blocks that were solved "
                        "again: another run may differ"
                    )
                pool = every if rising.done() else others
                search.improve(list(pool.map(search.solve, search.next)))
    return ""


class _Blocks:
    """The best partition so far, the `first` with as many moves, and the blocks tried without
    making it better.
    """

    def __init__(self, start: Placed, bound: RisingBound, steps: int) -> None:
        self.best = start
        self.solved = 0
        self.next = list[Ints]()
        self.is_cut = False
        self.first = {start.moves(): start}
        self.bound = bound
        self._blocks = changes(start, steps) // STEPS_OF_A_BLOCK if bound.with_highs else 0
        self._tried: set[bytes] = set()
        self._random = np.random.default_rng(0)
        self._totals = start.totals()

    def choose(self, size: int) -> bool:
        """Chooses the `next` blocks, none of which has a node in common with another. Returns
        whether there are any to solve.
        """
        if self.solved >= self._blocks or (not self.best.merit()[0] and self.bound.is_met):
            return False
        self.next = self._disjoint(size)
        return bool(self.next)

    def solve(self, nodes: Ints) -> Placed | None:
        """The block solved anew; None where that is no better, or time is up."""
        self.is_cut |= not self.bound.has_time
        if self.is_cut:
            return None
        placed = solve_few_nodes_exactly.solve_block(
            self.best, self._totals, nodes, self.bound.until
        )
        self.is_cut |= not self.bound.has_time
        return placed

    def improve(self, answers: Sequence[Placed | None]) -> None:
        before, node = self.best, self.best.node.copy()
        for nodes, placed in zip(self.next, answers, strict=True):
            self.solved += 1
            if placed is None:
                self._tried.add(nodes.tobytes())
                continue
            changed = np.flatnonzero(placed.node != before.node)
            node[changed] = placed.node[changed]
        better = replace(before, node=node)
        if better.merit() < before.merit():
            self.best, self._totals = better, better.totals()
            self._tried.clear()
            self.first.setdefault(better.moves(), better)
            self.bound.note_found(better.moves())

    def _disjoint(self, size: int) -> list[Ints]:
        source, target = _moved_from_to(self.best)
        taken = np.zeros(len(self.best.items.low), dtype=np.bool_)
        blocks: list[Ints] = []
        for _ in range(DRAWS):
            nodes = linked_block(source, target, size, taken, self._random)
            if len(nodes) < 2 or nodes.tobytes() in self._tried:
                continue
            blocks.append(nodes)
            taken[nodes] = True
            if len(blocks) == ABREAST:
                break
        return blocks


def _moved_from_to(placed: Placed) -> tuple[Ints, Ints]:
    """The node that each moved item left, and the node it is on. For an item that left none both
    are the same.
    """
    items = placed.items
    moved = items.movable[
        placed.costs_at(items.site[items.movable], placed.node[items.movable]) > 0
    ]
    target, site = placed.node[moved], items.site[moved]
    source = target.copy()
    homes = np.flatnonzero(items.first_home[site + 1] > items.first_home[site])
    source[homes] = items.home[items.first_home[site[homes]]]
    return source, target


def linked_block(
    source: Ints, target: Ints, size: int, taken: Bools, random: np.random.Generator
) -> Ints:
    """A block around one of the moves, from `source[m]` to `target[m]`, none of its nodes `taken`;
    maybe empty.

    It grows to `size` nodes, or to as many moves: the more of them, the longer it takes to solve.
    """
    free = ~(taken[source] | taken[target])
    source, target = source[free], target[free]
    inside = np.zeros(len(taken), dtype=np.bool_)
    move = int(random.integers(len(source))) if len(source) else -1
    while move >= 0:
        grown = inside.copy()
        grown[[source[move], target[move]]] = True
        if np.count_nonzero(inside) and _is_large(source, target, grown, size):
            break
        inside = grown
        move = _next_move(source, target, inside, random)
    return np.flatnonzero(inside)


def _is_large(source: Ints, target: Ints, inside: Bools, size: int) -> bool:
    moves = np.count_nonzero(inside[source] & inside[target])
    return bool(np.count_nonzero(inside) > size or moves > size)


def _next_move(source: Ints, target: Ints, inside: Bools, random: np.random.Generator) -> int:
    """A move that leads out of the block, or mostly so; -1 where all moves are inside."""
    outside = np.flatnonzero(~(inside[source] & inside[target]))
    across = outside[inside[source[outside]] | inside[target[outside]]]
    if not len(outside):
        return -1
    pool = across if len(across) and random.random() < ALONG else outside
    return int(pool[random.integers(len(pool))])

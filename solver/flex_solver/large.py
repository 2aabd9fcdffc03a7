"""Few moves for large clusters, often proven fewest: a search around the placement in force, then blocks of nodes.

In go a Problem and a Budget; out comes the answer of some searches like that of local.py, which start where relief.py
has brought far nodes near, or where dealt.py has put most nodes right. HiGHS makes it better: nodes that some moves
connect are taken out and solved anew, again and again, until the moves are as few as relax.py, floor.py and forest.py
say they must be, or proof.py of the clusters it can look at, the steps are used up, or no block gets better. Blocks
that share no node are solved at the same time; what comes out does not depend on how many at a time, nor on the clock,
as long as the budget's seconds are not used up. Without HiGHS the answer is that of the searches.
"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial

import numpy as np

from flex import shortfall
from flex.problem import Budget, Ints, Problem, Solution, in_order
from flex_solver import block, forest, highs, proof
from flex_solver.answer import LATE, answer
from flex_solver.candidates import chosen
from flex_solver.colder import colder
from flex_solver.dealt import dealt
from flex_solver.floor import floor
from flex_solver.improve import MOVE
from flex_solver.limited import limited
from flex_solver.local import OF_EACH, InTime, changes, searched, settled
from flex_solver.neighbourhood import linked_block
from flex_solver.placed import Placed, movable_rows, placed
from flex_solver.polish import spared
from flex_solver.relax import Relaxed, relaxed
from flex_solver.relief import relieved
from flex_solver.start import repaired

# A block costs as much as so many of the changes that the search before it tries.
BLOCK = 400
# Sizes of blocks, the next one tried when the one before finds nothing more; and how many are solved side by side.
SIZES, ABREAST = (4, 6, 8, 10), 4
# How many times the steps of local.py go into a search that the blocks may start from, and how many of these there are.
# With more nodes than a few, one search differs less from the next: two are enough, or those from where dealt.py has
# put every node right.
THOROUGH, STARTS, FEW = 10, 4, 40
# That is asked for as long as there are no more nodes than this, and again for what one remedy for each node leaves.
# It starts from the placement in force too, unless relief.py moves a row for every other node, so far off they are.
DEALING, DEALS, FAR = 400, 2, 0.5
# The part of the time left that all this may take.
FOR_DEALS = 0.5
# The part of the time left that proofs may take: blocks that find a move less prove as much, and often sooner.
FOR_PROOFS = 0.6
# A size is given up after so many blocks in a row that were tried before.
TRIED = 30


def place(
    problem: Problem, budget: Budget, *, with_highs: bool = highs.AVAILABLE, threads: int = os.cpu_count() or 1
) -> Solution:
    until = time.monotonic() + budget.seconds
    with_highs = with_highs and budget.seconds > 0
    known = _known(problem, with_highs=with_highs)
    dealing = time.monotonic() + FOR_DEALS * (until - time.monotonic())
    starts = _starts(problem, known, threads, dealing if with_highs else None)
    cut = f"{LATE} for more deals between nodes: another run may differ" if time.monotonic() > dealing else ""
    found, note = _best_of_some(problem, known, starts, budget.steps, threads, lambda: time.monotonic() < until)
    known = _known_of_few(problem, known, found, budget) if not note else known
    if with_highs and not note:
        most = FOR_PROOFS * (until - time.monotonic())
        found, known, unsettled = _with_proof(problem, found, known, budget.steps, time.monotonic() + most)
        search = _Blocks(found, known.least, changes(found, budget.steps) // BLOCK)
        late = _solved_again(search, threads, lambda: time.monotonic() < until)
        note = late or ("" if _moves_of(search.best) == known.least else unsettled)
        found = search.best
    found = spared(found if note else settled(found, changes(found, THOROUGH * budget.steps)), problem.tolerance)
    free = colder(problem, found)
    best, instead = limited(problem, free), shortfall.limits_for(problem, free.rows, known.least)
    note = note or ("" if _moves_of(found) == known.least else cut)
    return answer(problem, best.rows, "large", least=known.least, note=note, instead=instead)


def _known(problem: Problem, *, with_highs: bool) -> Relaxed:
    """Where nothing is in force, every placement has as many moves."""
    known = relaxed(problem)
    return replace(known, least=max(known.least, floor(problem))) if with_highs and len(problem.old) else known


def _known_of_few(problem: Problem, known: Relaxed, found: Placed, budget: Budget) -> Relaxed:
    """With a larger bound maybe, where there are few nodes and the moves found are not known to be the fewest."""
    small = proof.is_small(problem, budget.steps) and forest.is_small(problem)
    if budget.seconds <= 0 or not small or known.least >= _moves_of(found):
        return known
    return replace(known, least=max(known.least, forest.least(problem)))


def _starts(problem: Problem, known: Relaxed, threads: int, until: float | None) -> list[Ints]:
    """The rows that each search starts from: of many nodes those alone that are all put right, if there are any."""
    rows, nodes = in_order(repaired(problem)), int(problem.open.sum())
    near = relieved(placed(problem, rows, chosen(problem, rows, known, OF_EACH)))
    starts = [rows] * (STARTS if nodes <= FEW else 2)
    if until is None or not len(problem.old) or nodes > DEALING:
        return [*starts[1:], near.rows]
    is_far = nodes > FEW and np.count_nonzero(rows[:, 1] != near.open_nodes[near.node]) > nodes * FAR
    deals = _deals(problem, [near.rows] if is_far else [rows, near.rows], threads, until)
    right = [found.rows for found in deals if not found.merit()[0]]
    return right if right and nodes > FEW else [*(found.rows for found in deals), *starts[len(deals) :]]


def _deals(problem: Problem, starts: list[Ints], threads: int, until: float) -> list[Placed]:
    """What each start leads to; equal ones are looked at once."""
    different = {rows.tobytes(): rows for rows in starts}
    with ThreadPoolExecutor(threads) as pool:
        found = dict(zip(different, pool.map(partial(_dealt, problem, until), different.values()), strict=True))
    return [found[rows.tobytes()] for rows in starts]


def _dealt(problem: Problem, until: float, rows: Ints) -> Placed:
    start = placed(problem, rows, np.flatnonzero(movable_rows(problem, rows)))
    for _ in range(DEALS):
        found = dealt(start, problem.tolerance, until)
        if not found.merit()[0] or found.merit() >= start.merit():
            break
        start = found
    return found


def _best_of_some(
    problem: Problem, known: Relaxed, starts: list[Ints], steps: int, threads: int, in_time: InTime
) -> tuple[Placed, str]:
    """The best of some searches is better than one that is as long as all of them."""

    def search(seed: int) -> tuple[Placed, str]:
        return searched(problem, known, starts[seed], THOROUGH * steps, in_time, seed)

    with ThreadPoolExecutor(threads) as pool:
        found = list(pool.map(search, range(len(starts))))
    return min((placed for placed, _ in found), key=Placed.merit), max(note for _, note in found)


def _with_proof(
    problem: Problem, found: Placed, known: Relaxed, steps: int, until: float
) -> tuple[Placed, Relaxed, str]:
    """A larger bound where proof.py has one, and the placement that it finds where none does; a word when time is up.

    The bound goes up one by one, as more moves are harder to rule out than fewer.
    """
    while proof.is_small(problem, steps) and known.least < _moves_of(found):
        verdict = proof.with_so_few(problem, known.least, until - time.monotonic())
        if verdict.rows is not None:
            rows = chosen(problem, verdict.rows, known, OF_EACH)
            return placed(problem, verdict.rows, rows), known, ""
        if not verdict.impossible:
            late = time.monotonic() > until
            return found, known, f"{LATE} for a better bound: another run may have one" if late else ""
        known = replace(known, least=known.least + 1)
    return found, known, ""


def _moves_of(found: Placed) -> int:
    """None to be proven few where the band does not hold."""
    outside, cost = found.merit()
    return 0 if outside else round(cost / MOVE)


def _solved_again(search: _Blocks, threads: int, in_time: InTime) -> str:
    """Solves blocks until none is wanted; a word where time ran out before."""
    with ThreadPoolExecutor(threads) as pool:
        for size in SIZES:
            while search.wanted(size):
                if not in_time():
                    return f"{LATE} after {search.solved} blocks that were solved again: another run may differ"
                search.improve(list(pool.map(search.solve, search.next)))
    return ""


class _Blocks:
    """The best placement so far, and the blocks that were tried without making it better."""

    def __init__(self, start: Placed, least: int, blocks: int) -> None:
        self.best, self.solved, self.next = start, 0, list[Ints]()
        self._least, self._blocks = least, blocks
        self._tried: set[bytes] = set()
        self._random = np.random.default_rng(0)
        self._totals = start.totals()

    def wanted(self, size: int) -> bool:
        """Whether there are blocks to solve, which `next` then holds: none has a node in common with another."""
        outside, cost = self.best.merit()
        if self.solved >= self._blocks or (not outside and round(cost / MOVE) <= self._least):
            return False
        self.next = self._disjoint(size)
        return bool(self.next)

    def solve(self, nodes: Ints) -> Placed | None:
        return block.solved(self.best, self._totals, nodes)

    def improve(self, answers: Sequence[Placed | None]) -> None:
        before, node = self.best, self.best.node.copy()
        for nodes, found in zip(self.next, answers, strict=True):
            self.solved += 1
            if found is None:
                self._tried.add(nodes.tobytes())
                continue
            changed = np.flatnonzero(found.node != before.node)
            node[changed] = found.node[changed]
        better = replace(before, node=node)
        if better.merit() < before.merit():
            self.best, self._totals = better, better.totals()
            self._tried.clear()

    def _disjoint(self, size: int) -> list[Ints]:
        source, target = _moves(self.best)
        taken = np.zeros(len(self.best.items.low), dtype=np.bool_)
        found: list[Ints] = []
        for _ in range(TRIED):
            nodes = linked_block(source, target, size, taken, self._random)
            if len(nodes) < 2 or nodes.tobytes() in self._tried:
                continue
            found.append(nodes)
            taken[nodes] = True
            if len(found) == ABREAST:
                break
        return found


def _moves(placed: Placed) -> tuple[Ints, Ints]:
    """The nodes that moved items left, and those they are on; an item that left none counts as moved on the spot."""
    items = placed.items
    moved = items.movable[placed.costs_at(items.site[items.movable], placed.node[items.movable]) > 0]
    target, site = placed.node[moved], items.site[moved]
    source = target.copy()
    homes = np.flatnonzero(items.first_home[site + 1] > items.first_home[site])
    source[homes] = items.home[items.first_home[site[homes]]]
    return source, target

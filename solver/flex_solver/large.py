"""Few moves for large clusters, often proven to be the fewest.

Takes a Problem and a Budget. Returns a Solution. Does not depend on the number of threads, nor on
the clock as long as the budget's seconds are not used up. With a budget of no seconds HiGHS is left
out, and the answer is that of the searches in step 2.

1. A bound is computed: linear.py, and priced.py where something is in force.

2. Some searches like that of local.py start from placements in which relief.py has brought far
   nodes near, or dealt_remedies.py has put most nodes right. The best one goes on.

3. Blocks of nodes that moves connect are taken out and solved anew by HiGHS, again and again.
   Blocks that share no node are solved at the same time. Beside steps 2 and 3 rising.py makes the
   bound higher.

4. This ends when the moves are as few as the bound, when the steps are used up, or when no block
   gets better.
"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace

import numpy as np

from flex.placing import shortfall
from flex.placing.problem import Budget, Ints, Problem, Solution, in_order
from flex_solver.answer import LATE, answer
from flex_solver.bounds.linear import Relaxed, relax
from flex_solver.bounds.priced import floor
from flex_solver.bounds.rising import Rising
from flex_solver.search import block
from flex_solver.search.candidates import choose
from flex_solver.search.dealt_remedies import deal_remedies
from flex_solver.search.fewer_cold_bytes import colder
from flex_solver.search.improve import MOVE
from flex_solver.search.integers import Placed, movable_rows, to_integers
from flex_solver.search.local import OF_EACH, changes, make_colder, search_around
from flex_solver.search.minimal_repair import repair_all
from flex_solver.search.neighbourhood import linked_block
from flex_solver.search.polish import drop_small_moves
from flex_solver.search.relief import relieve_nodes
from flex_solver.search.within_limits import limit_moves

# A block costs as much as so many changes that the search before it tries. A guess.
STEPS_OF_A_BLOCK = 400
# Nodes in a block; the next size is tried when the one before finds nothing more. A guess.
SIZES = (4, 6, 8, 10)
# Blocks that are chosen together and may be solved at the same time. A guess; it is no number of
# threads, so that the answer does not depend on the machine.
ABREAST = 4
# Each search that the blocks start from takes so many times the budget's steps. A guess.
THOROUGH = 10
# How many such searches there are for few nodes, each from its own seed; for more nodes two are
# enough, as one search differs less from the next. A guess.
SEARCHES = 4
# Nodes, at most, that count as few. Then smaller sites are dealt as well. A guess.
FEW_NODES = 40
# Open nodes, at most, for which dealt_remedies.py is asked. A guess.
MOST_NODES_FOR_DEALS = 400
# How often it is asked in a row, each time for what one remedy for each node has left. A guess.
DEALS = 2
# Rows that relief.py moves, for each node, above which the nodes are far off: then the placement in
# force is no start for deals. A guess.
FAR = 0.5
# The part of the time left that deals may take. A guess.
FOR_DEALS = 0.65
# The part of the budget's seconds for the search. The rest is for making the answer, which takes
# longer with more sites. A guess.
FOR_FINDING = 0.96
# Blocks that are drawn, at most, to find some that were not tried before. Where none is found the
# next size is taken. A guess.
DRAWS = 30


def place(
    problem: Problem,
    budget: Budget,
    *,
    with_highs: bool = True,
    threads: int = os.cpu_count() or 1,
) -> Solution:
    with_highs = with_highs and budget.seconds > 0
    until = time.monotonic() + FOR_FINDING * budget.seconds
    known = _known_bound(problem, with_highs=with_highs)
    dealing = (
        time.monotonic() + FOR_DEALS * (until - time.monotonic())
        if with_highs
        else None
    )
    starts = _starts(problem, known, threads, dealing)
    is_cut = dealing is not None and time.monotonic() > dealing
    rising = Rising(problem, known.least, budget, until, with_highs=with_highs)
    found, note = _sought(rising, known, starts, budget.steps, threads)
    found = drop_small_moves(
        found if note else make_colder(found, changes(found, THOROUGH * budget.steps)),
        problem.tolerance,
    )
    if is_cut and not note and _moves_of(found) != rising.least:
        note = f"{LATE} for more deals between nodes: another run may differ"
    return _answer(problem, found, rising.least, note)


def _sought(
    rising: Rising, known: Relaxed, starts: list[Ints], steps: int, threads: int
) -> tuple[Placed, str]:
    """Steps 2 and 3 of the module, while the bound goes up beside both; a note where time was up
    before an end.
    """
    with rising.beside() as going_up:
        found, note = _best_of_some(rising, known, starts, steps, threads)
        if found.merit()[0]:
            rising.give_up()
        else:
            rising.note_found(_moves_of(found))
        if not note:
            found, note = _improve(
                _Blocks(found, rising, steps), known, threads, going_up
            )
    going_up.result()
    return found, note


def _answer(problem: Problem, found: Placed, least: int, note: str) -> Solution:
    """The Solution with colder sites, and within the limits of moves as far as possible."""
    free = colder(problem, found)
    best = limit_moves(problem, free)
    instead = shortfall.limits_for(problem, free.rows, least)
    return answer(problem, best.rows, "large", least=least, note=note, instead=instead)


def _known_bound(problem: Problem, *, with_highs: bool) -> Relaxed:
    """The bound of step 1. Where nothing is in force all placements have equally many moves, and
    the second bound adds nothing.
    """
    known = relax(problem)
    if not with_highs or not len(problem.old):
        return known
    return replace(known, least=max(known.least, floor(problem)))


def _starts(
    problem: Problem, known: Relaxed, threads: int, until: float | None
) -> list[Ints]:
    """The rows that each search starts from. With many nodes, deals that put every node right are
    the only starts, if there are any.
    """
    rows, nodes = in_order(repair_all(problem)), int(problem.open.sum())
    near = relieve_nodes(
        to_integers(problem, rows, choose(problem, rows, known, OF_EACH))
    )
    starts = [rows] * (SEARCHES if nodes <= FEW_NODES else 2)
    if until is None or not len(problem.old) or nodes > MOST_NODES_FOR_DEALS:
        return [*starts[1:], near.rows]
    if nodes <= FEW_NODES:
        dealing = [rows, near.rows]
    else:
        relieved = np.count_nonzero(rows[:, 1] != near.open_nodes[near.node])
        dealing = [near.rows] if relieved > nodes * FAR else [near.rows, rows]
    deals = _deals(problem, dealing, threads, until)
    right = [found.rows for found in deals if not found.merit()[0]]
    if right and nodes > FEW_NODES:
        return right
    return [*(found.rows for found in deals), *starts[len(deals) :]]


def _deals(
    problem: Problem, starts: list[Ints], threads: int, until: float
) -> list[Placed]:
    """What deals make of each start, while there is time. Equal starts are dealt once."""
    found = dict[bytes, Placed]()
    for rows in starts:
        if rows.tobytes() not in found and (not found or time.monotonic() < until):
            found[rows.tobytes()] = _deal(problem, until, rows, threads)
    return [found[rows.tobytes()] for rows in starts if rows.tobytes() in found]


def _deal(problem: Problem, until: float, rows: Ints, threads: int) -> Placed:
    start = to_integers(problem, rows, np.flatnonzero(movable_rows(problem, rows)))
    for _ in range(DEALS):
        found = deal_remedies(
            start,
            problem.tolerance,
            until,
            finely=len(start.items.low) <= FEW_NODES,
            threads=threads,
        )
        if not found.merit()[0] or found.merit() >= start.merit():
            break
        start = found
    return found


def _best_of_some(
    rising: Rising, known: Relaxed, starts: list[Ints], steps: int, threads: int
) -> tuple[Placed, str]:
    """The best of some searches: better than one search that is as long as all of them."""

    def search(seed: int) -> tuple[Placed, str]:
        return search_around(
            rising.problem,
            known,
            starts[seed],
            THOROUGH * steps,
            lambda: rising.in_time,
            seed,
        )

    with ThreadPoolExecutor(threads) as pool:
        found = list(pool.map(search, range(len(starts))))
    return min((placed for placed, _ in found), key=Placed.merit), max(
        note for _, note in found
    )


def _moves_of(found: Placed) -> int:
    """The moves of a placement within the band; 0 where the band does not hold."""
    outside, cost = found.merit()
    return 0 if outside else round(cost / MOVE)


def _improve(
    search: _Blocks, known: Relaxed, threads: int, going_up: Future[None]
) -> tuple[Placed, str]:
    """Step 3 of the module; a note where time was up before an end.

    Where the moves are proven fewest, the first placement with so few is returned, so that it makes
    no difference when the proof came.
    """
    late, rising = _solved_again(search, threads, going_up), search.rising
    if late:
        rising.stop()
    going_up.result()
    if rising.is_met and not search.best.merit()[0]:
        return search.first[rising.moves], late if search.is_cut else ""
    if rising.rows is not None:
        return to_integers(
            rising.problem,
            rising.rows,
            choose(rising.problem, rising.rows, known, OF_EACH),
        ), late
    return search.best, late or (
        f"{LATE} for a better bound: another run may have one" if rising.late else ""
    )


def _solved_again(search: _Blocks, threads: int, beside: Future[None]) -> str:
    """Solves blocks until none is wanted; a note where time ran out before. What goes on `beside`
    this has a core of its own until it is done.
    """
    with (
        ThreadPoolExecutor(threads) as every,
        ThreadPoolExecutor(max(1, threads - 1)) as others,
    ):
        for size in SIZES:
            while search.is_cut or search.wanted(size):
                if search.is_cut or not search.rising.in_time:
                    return (
                        f"{LATE} after {search.solved} blocks that were solved "
                        "again: another run may differ"
                    )
                pool = every if beside.done() else others
                search.improve(list(pool.map(search.solve, search.next)))
    return ""


class _Blocks:
    """The best placement so far, the `first` with as many moves, and the blocks tried without
    making it better.
    """

    def __init__(self, start: Placed, rising: Rising, steps: int) -> None:
        self.best, self.solved, self.next = start, 0, list[Ints]()
        self.is_cut = False
        self.first = {_moves_of(start): start}
        self.rising, self._blocks = (
            rising,
            changes(start, steps) // STEPS_OF_A_BLOCK if rising.with_highs else 0,
        )
        self._tried: set[bytes] = set()
        self._random = np.random.default_rng(0)
        self._totals = start.totals()

    def wanted(self, size: int) -> bool:
        """Whether there are blocks to solve, which `next` then holds: none has a node in common
        with another.
        """
        if self.solved >= self._blocks or (
            not self.best.merit()[0] and self.rising.is_met
        ):
            return False
        self.next = self._disjoint(size)
        return bool(self.next)

    def solve(self, nodes: Ints) -> Placed | None:
        """The block solved anew; None where that is no better, or time is up."""
        self.is_cut |= not self.rising.in_time
        return (
            None if self.is_cut else block.solve_block(self.best, self._totals, nodes)
        )

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
            self.first.setdefault(_moves_of(better), better)
            self.rising.note_found(_moves_of(better))

    def _disjoint(self, size: int) -> list[Ints]:
        source, target = _moves(self.best)
        taken = np.zeros(len(self.best.items.low), dtype=np.bool_)
        found: list[Ints] = []
        for _ in range(DRAWS):
            nodes = linked_block(source, target, size, taken, self._random)
            if len(nodes) < 2 or nodes.tobytes() in self._tried:
                continue
            found.append(nodes)
            taken[nodes] = True
            if len(found) == ABREAST:
                break
        return found


def _moves(placed: Placed) -> tuple[Ints, Ints]:
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

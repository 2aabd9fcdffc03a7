"""Few moves for large clusters, often proven to be the fewest.

Takes a Problem and a Budget. Returns a Solution. Does not depend on the number of threads, nor on
the clock as long as the budget's seconds are not used up. With a budget of no seconds HiGHS is left
out, and the answer is that of the searches in step 3.

1. A bound is computed: linear.py, and priced.py where something is in force.

2. starts.py makes some partitions to start from. In them far nodes are near their bands, or most
   nodes are within them.

3. A search like that of local_solver.py goes on from each of them. The best partition is kept.

4. solve_blocks_again.py takes blocks of nodes out of it and solves them anew, again and again.
   Beside steps 3 and 4 rising_bound.py makes the bound higher. Both end when the moves are as few
   as the bound.

5. Moves that the band does not need are taken back, cheaper sites move in place of others, and the
   limits of moves are kept as far as possible.
"""

from __future__ import annotations

import os
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

from flex.placing import why_best_effort
from flex.placing.problem import Budget, Ints, Problem, Solution
from flex_solver.bounds.linear import Relaxed, relax
from flex_solver.bounds.priced import floor
from flex_solver.bounds.rising_bound import RisingBound
from flex_solver.rows_to_solution import LATE, answer
from flex_solver.search.anneal import changes, make_colder, search_around
from flex_solver.search.fewer_cold_bytes import colder
from flex_solver.search.keep_move_limits import limit_moves
from flex_solver.search.needless_moves import drop_small_moves
from flex_solver.search.partition_in_integers import Placed
from flex_solver.search.solve_blocks_again import improve_blocks
from flex_solver.search.starts import starts

# Each search that the blocks start from takes so many times the budget's steps. A guess.
THOROUGH = 10
# The part of the time left that deals may take. A guess.
FOR_DEALS = 0.65
# The part of the budget's seconds for the search. The rest is for making the answer, which takes
# longer with more sites. A guess.
FOR_FINDING = 0.96


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
    begin = starts(problem, known, threads, dealing)
    is_cut = dealing is not None and time.monotonic() > dealing
    bound = RisingBound(problem, known.least, budget, until, with_highs=with_highs)
    found, note = _search(bound, known, begin, budget.steps, threads)
    found = drop_small_moves(
        found if note else make_colder(found, changes(found, THOROUGH * budget.steps)),
        problem.tolerance,
    )
    if is_cut and not note and found.moves() != bound.least:
        note = f"{LATE} for more deals between nodes: another run may differ"
    return _answer(problem, found, bound.least, note)


def _known_bound(problem: Problem, *, with_highs: bool) -> Relaxed:
    """The bound of step 1. Where nothing is in force all partitions have equally many moves, and
    the second bound adds nothing.
    """
    known = relax(problem)
    if not with_highs or not len(problem.old):
        return known
    return replace(known, least=max(known.least, floor(problem)))


def _search(
    bound: RisingBound, known: Relaxed, begin: list[Ints], steps: int, threads: int
) -> tuple[Placed, str]:
    """Steps 3 and 4 of the module, while the bound rises beside both. Returns a note where time
    was up before an end.
    """
    with bound.beside() as rising:
        found, note = _best_of_some(bound, known, begin, steps, threads)
        if found.merit()[0]:
            bound.give_up()
        else:
            bound.note_found(found.moves())
        if not note:
            found, note = improve_blocks(found, known, bound, steps, threads, rising)
    rising.result()
    return found, note


def _best_of_some(
    bound: RisingBound, known: Relaxed, begin: list[Ints], steps: int, threads: int
) -> tuple[Placed, str]:
    """The best of some searches: better than one search that is as long as all of them."""

    def search(seed: int) -> tuple[Placed, str]:
        return search_around(
            bound.problem,
            known,
            begin[seed],
            THOROUGH * steps,
            lambda: bound.in_time,
            seed,
        )

    with ThreadPoolExecutor(threads) as pool:
        found = list(pool.map(search, range(len(begin))))
    return min((placed for placed, _ in found), key=Placed.merit), max(
        note for _, note in found
    )


def _answer(problem: Problem, found: Placed, least: int, note: str) -> Solution:
    """The Solution with colder sites, and within the limits of moves as far as possible."""
    free = colder(problem, found)
    best = limit_moves(problem, free)
    instead = why_best_effort.limits_for(problem, free.rows, least)
    return answer(problem, best.rows, "large", least=least, note=note, instead=instead)

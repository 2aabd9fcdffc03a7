"""Few moves for large clusters, often proven to be the fewest.

Takes a Problem and a Budget. Returns a Solution. Does not depend on the number of threads, nor on
the clock as long as the budget's seconds are not used up. With a budget of no seconds HiGHS is left
out, and the answer is that of the searches in step 4.

1. A bound is computed: linear.py, and priced.py where something is in force.

2. With few nodes heavy_site_programs.py decides the heaviest sites by integer programs, and makes
   the bound higher. Where its moves are few for the bound, it has the rest of the time, and step 6
   follows.

3. starts.py makes some partitions to start from. In them far nodes are near their bands, or most
   nodes are within them.

4. A search like that of local_solver.py goes on from each of them. The best partition is kept.

5. With few nodes heavy_site_programs.py goes on from it. Then solve_blocks_again.py takes blocks of
   nodes out of it and solves them anew, again and again. Beside the searches rising_move_bound.py
   makes the bound higher. All of this ends when the moves are as few as the bound.

6. Moves that the band does not need are taken back, cheaper sites move in place of others, and the
   limits of moves are kept as far as possible.
"""

from __future__ import annotations

import math
import os
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

from flex.placing import why_best_effort
from flex.placing.problem import Budget, Problem, Solution
from flex_solver.bounds.certificate import Known, certificate
from flex_solver.bounds.linear import Relaxed, relax
from flex_solver.bounds.priced import price_bound
from flex_solver.bounds.rising_move_bound import RisingBound
from flex_solver.rows_to_solution import COLDER, IMPOSSIBLE, LATE, NOT_NEAREST, answer
from flex_solver.search.anneal import changes, make_colder, only_balance, search_around
from flex_solver.search.cause_trials import CauseTrials, limits_of_nearer
from flex_solver.search.choose_rows_to_search import make_some_movable
from flex_solver.search.fewer_cold_bytes import colder
from flex_solver.search.heavy_site_programs import HeaviestSites, may_decide
from flex_solver.search.keep_move_limits import limit_moves
from flex_solver.search.needless_moves import drop_small_moves
from flex_solver.search.partition_in_integers import Placed
from flex_solver.search.solve_blocks_again import improve_blocks
from flex_solver.search.starts import Start, first_start, starts

# Each search that the blocks start from takes so many times the budget's steps. A guess.
THOROUGH = 10
# The part of the time left that deals may take. A guess.
FOR_DEALS = 0.65
# The part of the time left that searches for few moves may take. The rest is for one that only
# balances, where that is needed, and for blocks. A guess.
FOR_MOVES = 0.8
# The part of the budget's seconds for the search. The rest is for making the answer, which takes
# longer with more sites. A guess.
FOR_FINDING = 0.96
# The least that the search gets of them, however busy the machine is. A guess.
LEAST_FOR_FINDING = 0.8
# The part of the time left that programs over the heaviest sites may take at first, and then the
# searches where there are such programs. Guesses.
FOR_HEAVIEST = 0.4
FOR_OTHERS = 0.5
# How many times as long as the first bound it takes to make the answer with its certificate. A
# guess.
AS_THE_BOUND = 4
# The part of the budget's seconds for the bounds before any search. A guess.
FOR_BOUNDS = 0.2


def place(
    problem: Problem, budget: Budget, *, with_highs: bool = True, threads: int = os.cpu_count() or 1
) -> Solution:
    with_highs = with_highs and budget.seconds > 0
    started = time.monotonic()
    looked = _known_bound(problem, started, budget, with_highs=with_highs)
    known = looked.known.relaxed
    end = started + budget.seconds
    until = _when_to_stop(started, looked.seconds, budget)
    bound = RisingBound(problem, known.least, budget, until, with_highs=with_highs)
    start = first_start(problem, known, until)
    heaviest = None
    if with_highs and may_decide(problem):
        heaviest = HeaviestSites(problem, known, start, bound, budget.steps)
        heaviest.decide(FOR_HEAVIEST)
    if heaviest is not None and heaviest.best is not None and heaviest.has_ended:
        placed, note = heaviest.best, _late(heaviest)
    elif heaviest is not None:
        placed, note = _search_few(heaviest, bound, known, start, budget.steps, threads)
    else:
        placed, note = _search(bound, known, start, budget.steps, threads)
    if heaviest is not None and not placed.merit()[0]:
        placed = heaviest.colder(placed)
    placed = drop_small_moves(
        placed if note else make_colder(placed, changes(placed, THOROUGH * budget.steps)),
        problem.tolerance,
    )
    if heaviest is not None and heaviest.best is None and heaviest.is_impossible:
        note = IMPOSSIBLE + (NOT_NEAREST if note else "")
    for_colder = (until + end) / 2 if budget.seconds else math.inf
    answered = _answer(problem, placed, bound.least, note, for_colder)
    return replace(answered, certificate=certificate(problem, looked.known, end))


@dataclass(frozen=True, slots=True, eq=False)
class _Looked:
    """What is known at first, and the `seconds` that the first bound took."""

    known: Known
    seconds: float


def _when_to_stop(started: float, seconds: float, budget: Budget) -> float:
    """Making the answer takes longer with more sites, and on a busy machine: as the first bound
    does.
    """
    for_answer = max((1 - FOR_FINDING) * budget.seconds, AS_THE_BOUND * seconds)
    return started + max(LEAST_FOR_FINDING * budget.seconds, budget.seconds - for_answer)


def _known_bound(problem: Problem, started: float, budget: Budget, *, with_highs: bool) -> _Looked:
    """The bound of step 1. Where nothing is in force all partitions have equally many moves, and
    the second bound adds nothing.
    """
    until = started + FOR_BOUNDS * budget.seconds if budget.seconds else math.inf
    known = relax(problem, until=until)
    seconds = time.monotonic() - started
    if not with_highs or not len(problem.old):
        return _Looked(Known(known, None), seconds)
    priced = price_bound(problem, until=until)
    least = max(known.least, priced.least)
    return _Looked(Known(replace(known, least=least), priced), seconds)


def _search_few(
    heaviest: HeaviestSites,
    bound: RisingBound,
    known: Relaxed,
    start: Start,
    steps: int,
    threads: int,
) -> tuple[Placed, str]:
    """Steps 3 to 5 of the module with few nodes. Returns a note where time was up before an end."""
    dealt = _Dealt(bound, known, start, FOR_OTHERS, threads)
    with bound.go_up_in_background() as rising:
        placed, note = _best_of_some(bound, known, dealt, steps, threads)
    rising.result()
    heaviest.go_on_from(placed.rows)
    if bound.rows is not None:
        heaviest.take(bound.rows)
    heaviest.decide(FOR_OTHERS if heaviest.best is None else 1.0, largest_first=True)
    if heaviest.best is None:
        bound.give_up()
    placed, note = heaviest.best or placed, note or _late(heaviest)
    if not heaviest.has_ended:
        placed, late = improve_blocks(placed, known, bound, steps, threads, rising)
        note = note or late
    return placed, note or dealt.note_on(placed)


def _search(
    bound: RisingBound, known: Relaxed, start: Start, steps: int, threads: int
) -> tuple[Placed, str]:
    """Steps 3 to 5 of the module, while the bound rises beside them. Returns a note where time was
    up before an end.
    """
    dealt = _Dealt(bound, known, start, FOR_MOVES, threads)
    with bound.go_up_in_background() as rising:
        placed, note = _best_of_some(bound, known, dealt, steps, threads)
        if placed.merit()[0]:
            bound.give_up()
        else:
            bound.note_found(placed.moves())
        if not note:
            placed, note = improve_blocks(placed, known, bound, steps, threads, rising)
    rising.result()
    return placed, note or dealt.note_on(placed)


class _Dealt:
    """The `rows` that searches start from. They and the searches end at `until`: they have that
    part of the time left.
    """

    def __init__(
        self, bound: RisingBound, known: Relaxed, start: Start, part: float, threads: int
    ) -> None:
        now = time.monotonic()
        self._bound, self.until = bound, now + part * (bound.until - now)
        ends = now + FOR_DEALS * (self.until - now) if bound.with_highs else None
        self.rows = starts(bound.problem, start, known, threads, ends)
        self._is_cut = ends is not None and time.monotonic() > ends

    def note_on(self, placed: Placed) -> str:
        if not self._is_cut or placed.moves() == self._bound.least:
            return ""
        return f"{LATE} for more deals between nodes: another run may differ"


def _late(heaviest: HeaviestSites) -> str:
    return f"{LATE} for a part of the search: another run may differ" if heaviest.is_cut else ""


def _best_of_some(
    bound: RisingBound, known: Relaxed, dealt: _Dealt, steps: int, threads: int
) -> tuple[Placed, str]:
    """The best of some searches: better than one search that is as long as all of them. Where none
    is balanced, another one looks for nothing but that, in the time that is kept for it.
    """

    def has_time_for(seconds: float) -> bool:
        return time.monotonic() + seconds < dealt.until

    def search(seed: int) -> tuple[Placed, str]:
        return search_around(
            bound.problem, known, dealt.rows[seed], THOROUGH * steps, has_time_for, seed
        )

    with ThreadPoolExecutor(threads) as pool:
        attempts = list(pool.map(search, range(len(dealt.rows))))
    best = min((placed for placed, _ in attempts), key=Placed.merit)
    note = max(note for _, note in attempts)
    if best.merit()[0] and bound.has_time:
        nearer = only_balance(bound.problem, best, steps, bound.has_time_for)
        if nearer.merit() < best.merit():
            # With the rows movable that searches move.
            best = make_some_movable(bound.problem, known, nearer.rows)
    return best, note


def _answer(problem: Problem, placed: Placed, least: int, note: str, until: float) -> Solution:
    """The Solution with colder sites, as far as that takes no longer than until then, and within
    the limits of moves as far as possible.
    """
    free, is_whole = colder(problem, placed, until)
    note = note or ("" if is_whole else COLDER)
    best = limit_moves(problem, free)
    instead = why_best_effort.limits_for(problem, free.rows, least)
    return answer(
        problem,
        best.rows,
        "large",
        least=least,
        note=note,
        instead=instead,
        finder=CauseTrials(limits_of_nearer(problem, best.rows, free.rows)),
    )

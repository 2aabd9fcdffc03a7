"""Few moves for clusters of any size, by a search around the partition in force.

Takes a Problem and a Budget. Returns a partition that keeps every wish, is as near to the band as
was found, and has few moves. Does not use HiGHS, except for the bound; large.py goes on from such
searches with it. Equal input gives equal output, as long as the budget's seconds are not used up.
"""

from __future__ import annotations

import time

from flex.placing.problem import Budget, Problem, Solution, sort_by_site
from flex_solver.bounds.linear import Relaxed, relax
from flex_solver.rows_to_solution import answer
from flex_solver.search.anneal import changes, make_colder, search_around
from flex_solver.search.cause_trials import CauseTrials, limits_of_nearer
from flex_solver.search.keep_move_limits import limit_moves
from flex_solver.search.partition_in_integers import Placed
from flex_solver.search.repair_wishes import repair_all


def place(problem: Problem, budget: Budget) -> Solution:
    known = relax(problem)
    free, note = search(problem, known, budget)
    best = limit_moves(problem, free)
    return answer(
        problem,
        best.rows,
        "local",
        least=known.least,
        note=note,
        finder=CauseTrials(limits_of_nearer(problem, best.rows, free.rows)),
    )


def search(problem: Problem, known: Relaxed, budget: Budget) -> tuple[Placed, str]:
    """The best partition found without limits of moves, and a word where time ran out."""
    until = time.monotonic() + budget.seconds
    rows = sort_by_site(repair_all(problem))
    placed, note = search_around(
        problem, known, rows, budget.steps, lambda more: time.monotonic() + more < until
    )
    return (placed if note else make_colder(placed, changes(placed, budget.steps))), note

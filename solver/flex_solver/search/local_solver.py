"""Few moves for clusters of any size, by a search around the partition in force.

Takes a Problem and a Budget. Returns a partition that keeps every wish, is as near to the band as
was found, and has few moves. Does not use HiGHS, except for the bound; large.py goes on from such
searches with it. Equal input gives equal output, as long as the budget's seconds are not used up.
"""

from __future__ import annotations

import time

from flex.placing.problem import Budget, Problem, Solution, in_order
from flex_solver.bounds.linear import relax
from flex_solver.rows_to_solution import answer
from flex_solver.search.anneal import changes, make_colder, search_around
from flex_solver.search.keep_move_limits import limit_moves
from flex_solver.search.repair_wishes import repair_all


def place(problem: Problem, budget: Budget) -> Solution:
    until = time.monotonic() + budget.seconds
    known = relax(problem)
    rows = in_order(repair_all(problem))
    found, note = search_around(
        problem, known, rows, budget.steps, lambda more: time.monotonic() + more < until
    )
    best = limit_moves(
        problem, found if note else make_colder(found, changes(found, budget.steps))
    )
    return answer(problem, best.rows, "local", least=known.least, note=note)

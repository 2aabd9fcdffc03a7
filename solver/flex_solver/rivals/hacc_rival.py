"""Off-loading in the manner of HACC: the fullest node hands sites to the emptiest.

Takes a Problem. Returns a partition. Does not do that itself: off_loading.py does.
"""

from __future__ import annotations

from flex.placing.problem import Budget, Problem, Solution
from flex_solver.rows_to_solution import answer
from flex_solver.search.off_loading import hand_over


def place(problem: Problem, budget: Budget) -> Solution:
    return answer(problem, hand_over(problem, budget.steps), "offload")

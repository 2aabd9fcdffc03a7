"""The solver of previews: a person waits for the answer, and looks at it once.

Takes the solver of the nights. Returns one that answers within seconds, with the bound that it
knows. A small cluster is solved as at night. For a larger one a short search is enough to see what
a wish or a lost node would change.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from flex.placing.problem import Budget, Problem, Solution
from flex.ports import Solver
from flex_solver import SOLVERS

# Sites times nodes up to which the solver of the nights mostly has its proof in SECONDS. A guess.
SMALL = 2_000
# Seconds that a preview may take. A guess: somebody waits for it.
SECONDS = 5.0
# Steps of the search in a preview. A guess.
STEPS = 50_000
NOTE = "this is the answer of a short search: a night searches longer, and may move fewer sites"


def short(budget: Budget) -> Budget:
    return Budget(min(budget.steps, STEPS), min(budget.seconds, SECONDS))


def quick(solver: Solver) -> Solver:
    def place(problem: Problem, budget: Budget) -> Solution:
        asking = np.count_nonzero(problem.load.any(axis=1)) * np.count_nonzero(problem.open)
        solution = (solver if asking <= SMALL else SOLVERS["local"])(problem, short(budget))
        return solution if solution.proven or solution.note else replace(solution, note=NOTE)

    return place

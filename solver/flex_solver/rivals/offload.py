"""Off-loading in the manner of HACC: the fullest node hands sites to the emptiest.

Takes a Problem. Returns a partition. Does not look at the dimensions one by one: as in that paper a
node's load is one number, here the mean over the dimensions. The largest site goes that leaves the
two nodes nearer to each other than they were.
"""

from __future__ import annotations

import numpy as np

from flex.placing.problem import Budget, Floats, Problem, Solution
from flex.placing.score import ROUNDING
from flex_solver.rivals.site_ledger import Ledger
from flex_solver.rows_to_solution import answer
from flex_solver.search.repair_wishes import repair_all


def place(problem: Problem, budget: Budget) -> Solution:
    ledger = Ledger(problem, repair_all(problem))
    for _ in range(min(budget.steps, len(problem.sites))):
        if not _hand_over(problem, ledger):
            break
    return answer(problem, ledger.rows(), "offload")


def _hand_over(problem: Problem, ledger: Ledger) -> bool:
    """One site from the fullest node to the emptiest; False where they are near enough or nothing
    would help.
    """
    busy = np.where(problem.open, ledger.full.mean(axis=1), np.nan)
    source, target = int(np.nanargmax(busy)), int(np.nanargmin(busy))
    apart = busy[source] - busy[target]
    if apart <= 2 * problem.tolerance + ROUNDING:
        return False
    asked: Floats = problem.load.mean(axis=1)
    for site in ledger.movable(source, asked).tolist():
        shift = (
            asked[site] / ledger.scale[source, 0]
            + asked[site] / ledger.scale[target, 0]
        )
        if abs(apart - shift) < apart - ROUNDING and ledger.may_take(site)[target]:
            ledger.move(site, source, target)
            return True
    return False

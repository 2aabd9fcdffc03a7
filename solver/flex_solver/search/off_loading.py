"""Hands sites over from the fullest node to the emptiest, as many as limits of moves let it.

Takes a Problem, and how many sites at most. Returns rows. Does not look at the dimensions one by
one: a node's load is one number here, the mean over the dimensions. The largest site goes that
leaves the two nodes nearer to each other than they were.
"""

from __future__ import annotations

import numpy as np

from flex.placing.problem import Floats, Ints, Problem
from flex.placing.score import ROUNDING
from flex_solver.search.repair_wishes import repair_all
from flex_solver.search.site_ledger import Ledger


def hand_over(problem: Problem, steps: int) -> Ints:
    ledger = Ledger(problem, repair_all(problem))
    for _ in range(min(steps, len(problem.sites))):
        if not _hand_over(problem, ledger):
            break
    return ledger.rows()


def _hand_over(problem: Problem, ledger: Ledger) -> bool:
    """One site from the fullest node to the emptiest; False where they are near enough or nothing
    would help.
    """
    busy = np.where(problem.open, ledger.full.mean(axis=1), np.nan)
    source, target = int(np.nanargmax(busy)), int(np.nanargmin(busy))
    apart = busy[source] - busy[target]
    if apart <= 2 * problem.tolerance + ROUNDING:
        return False
    demand: Floats = problem.load.mean(axis=1)
    for site in ledger.movable(source, demand).tolist():
        shift = demand[site] / ledger.scale[source, 0] + demand[site] / ledger.scale[target, 0]
        if abs(apart - shift) < apart - ROUNDING and ledger.may_take(site)[target]:
            ledger.move(site, source, target)
            return True
    return False

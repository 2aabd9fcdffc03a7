"""The greedy rule of load rebalancing (Aggarwal, Motwani and Zhu), and first fit.

Takes a Problem. Returns a partition. Does not look at nodes below their bands. Both rules take
sites off nodes that are above their bands, and put them where there is most room, the largest
first. The greedy rule takes off the largest until the node fits; first fit keeps the largest that
fit together. For one dimension the greedy rule is within twice the best that as many moves can do.
"""

from __future__ import annotations

import numpy as np

from flex.placing.problem import Budget, Floats, Ints, Problem, Solution
from flex.placing.score import ROUNDING
from flex_solver.rows_to_solution import answer
from flex_solver.search.repair_wishes import repair_all
from flex_solver.search.separate_rivals import separate
from flex_solver.search.site_ledger import Ledger


def greedy(problem: Problem, budget: Budget) -> Solution:  # noqa: ARG001  # Nothing to stop.
    """The largest leave."""
    ledger, size = _start(problem)
    pool = []
    for node in np.flatnonzero(problem.open).tolist():
        for site in ledger.movable(node, size).tolist():
            if _fits(problem, ledger.full[node]):
                break
            ledger.take(site, node)
            pool.append((site, node))
    return answer(problem, _rows(ledger, pool, size), "greedy")


def keep(problem: Problem, budget: Budget) -> Solution:  # noqa: ARG001  # Nothing to stop.
    """The largest stay."""
    ledger, size = _start(problem)
    pool = []
    for node in np.flatnonzero(problem.open).tolist():
        sites = ledger.movable(node, size).tolist()
        for site in sites:
            ledger.take(site, node)
        for site in sites:
            if _fits(problem, ledger.full[node] + problem.load[site] / ledger.scale[node]):
                ledger.put(site, node)
            else:
                pool.append((site, node))
    return answer(problem, _rows(ledger, pool, size), "keep")


def _start(problem: Problem) -> tuple[Ledger, Floats]:
    size: Floats = problem.load.max(axis=1)
    return Ledger(problem, repair_all(problem)), size


def _fits(problem: Problem, full: Floats) -> bool:
    return bool((full <= 1 + problem.tolerance + ROUNDING).all())


def _rows(ledger: Ledger, pool: list[tuple[int, int]], size: Floats) -> Ints:
    ledger.put_back(sorted(pool, key=lambda taken: (-size[taken[0]], taken)))
    problem, rows = ledger.problem, ledger.rows()
    return separate(problem, np.arange(len(problem.sites)), rows[:0], rows)

"""Makes many balanced partitions by chance, and keeps the one closest to that in force.

Takes a Problem. Returns a partition; equal input gives equal output. Does not search around the
partition in force. In each round sites are dealt out in another order, roughly the largest first,
and nodes are named after those they resemble. The balanced partition with the fewest moves is kept.
FLEX's own paper names its rule "Closest" and describes it elsewhere; this is that idea in its
plainest form.
"""

from __future__ import annotations

import numpy as np

from flex.placing import score
from flex.placing.problem import Budget, Ints, Problem, Solution
from flex_solver.from_scratch import rename_nodes
from flex_solver.rows_to_solution import answer, worst
from flex_solver.search.repair_wishes import repair_all
from flex_solver.search.separate_rivals import separate
from flex_solver.search.site_ledger import Ledger

# Partitions that are tried. A guess.
ROUNDS = 24
# How much a site's size is blurred for its place in the order: sigma of its logarithm. A guess.
BLUR = 0.3


def place(problem: Problem, budget: Budget) -> Solution:
    rounds = max(1, min(ROUNDS, budget.steps // max(1, len(problem.sites))))
    random = np.random.default_rng(0)
    start = repair_all(problem)
    sites = np.arange(len(problem.sites))
    dealt = (_deal_anew(Ledger(problem, start), random) for _ in range(rounds))
    tried = [rename_nodes(problem, separate(problem, sites, start[:0], rows)) for rows in dealt]
    return answer(problem, min(tried, key=lambda rows: _distance(problem, rows)), "closest")


def _deal_anew(ledger: Ledger, random: np.random.Generator) -> Ints:
    """Every site that may move taken up and dealt out anew."""
    size = ledger.problem.load.max(axis=1)
    size = size * np.exp(BLUR * random.standard_normal(len(size)))
    hand = [
        (site, node)
        for node in range(len(ledger.full))
        for site in ledger.movable(node, size).tolist()
    ]
    for site, node in hand:
        ledger.take(site, node)
    ledger.put_back(sorted(hand, key=lambda taken: (-size[taken[0]], taken)))
    return ledger.rows()


def _distance(problem: Problem, rows: Ints) -> tuple[float, int]:
    outside = max(0.0, worst(problem, rows) - problem.tolerance - score.ROUNDING)
    return round(outside, 6), score.moves(problem, rows)

"""Tries whether a partition can be balanced without one site.

Takes a Problem in which no balanced partition was found, and a site. Returns whether a short search
balances the others, whatever that moves: then the site is a cause. Does not prove that it is one;
where the search finds nothing, the site is not called a cause.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from flex.placing import score, why_best_effort
from flex.placing.problem import Problem, in_order
from flex_solver.search.anneal import only_balance
from flex_solver.search.bring_nodes_near_band import bring_nodes_near
from flex_solver.search.choose_rows_to_search import with_all_movable
from flex_solver.search.repair_wishes import repair_all

# Steps of the search for each site that is tried. A guess.
STEPS = 20_000
# Sites times open nodes, at most, where sites are tried: each takes a second then. A guess.
MOST = 100_000


def can_balance_without(problem: Problem, site: int) -> bool:
    if len(problem.sites) * int(problem.open.sum()) > MOST:
        return False
    less = _without(problem, site)
    rows = in_order(repair_all(less))
    near = bring_nodes_near(with_all_movable(less, rows))
    found = only_balance(less, near, STEPS, lambda seconds: True)  # noqa: ARG005
    broken = score.violations(less, found.rows)
    return not any(one.kind in why_best_effort.BAND for one in broken)


def _without(problem: Problem, site: int) -> Problem:
    """The site asks for nothing. What all the others ask is the whole then."""
    load = problem.load.copy()
    load[site] = 0.0
    asked = (load * problem.replicas[:, None]).sum(axis=0)
    share = problem.share[problem.open].sum()
    scale = np.divide(share, asked, out=np.ones_like(asked), where=asked > 0)
    return replace(problem, load=load * scale)

"""Takes a dead node out of a partition at once. Its replicated sites stay on their other nodes, and
each site that it has alone gets one new node.

Takes a Problem and the number of the dead node. Returns rows. Does not leave any site without a
node. Does not move other sites or balance the nodes: the next plan does that, and has the time.
"""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from flex.placing import score
from flex.placing.problem import Floats, Ints, Problem, sort_by_site

# What a plan says in place of the solver that made it.
SOLVER = "failover"


def survivors(problem: Problem, dead: int, copied: Collection[str] = ()) -> Ints:
    """The rows in force without the dead node's, where a site has another node that is open. Those
    that are `copied` have one that serves, and it is enough for them.
    """
    site, node = problem.old[:, 0], problem.old[:, 1]
    elsewhere = site[problem.open[node] & (node != dead)]
    there = [at for at, name in enumerate(problem.sites) if name in copied]
    leaves = np.isin(site, elsewhere) | np.isin(site, there)
    return sort_by_site(problem.old[(node != dead) | ~leaves])


def rehome(problem: Problem, rows: Ints, dead: int) -> Ints:
    """The rows with the sites that the dead node has alone on other nodes: the largest first, where
    most room is.
    """
    stays = rows[rows[:, 1] != dead]
    homeless = rows[rows[:, 1] == dead, 0]
    heaviest = homeless[np.argsort(-problem.load[homeless].max(axis=1), kind="stable")]
    load = score.loads(problem, stays)
    taken = {site: {dead} for site in heaviest.tolist()}
    for site, node in stays[np.isin(stays[:, 0], homeless)].tolist():
        taken[site].add(node)
    new = [(site, _roomiest(problem, load, site, taken[site])) for site in heaviest.tolist()]
    return sort_by_site(np.concatenate([stays, np.array(new, dtype=np.int64).reshape(-1, 2)]))


def _roomiest(problem: Problem, load: Floats, site: int, taken: set[int]) -> int:
    """The open node that is least full with the site on it; its load is counted from then on."""
    possible = [node for node in np.flatnonzero(problem.open).tolist() if node not in taken]
    allowed = [node for node in possible if node not in problem.barred.get(site, ())]
    candidates = np.array(allowed or possible)
    full = ((load[candidates] + problem.load[site]) / problem.share[candidates, None]).max(axis=1)
    best = int(candidates[int(full.argmin())])
    load[best] += problem.load[site]
    return best

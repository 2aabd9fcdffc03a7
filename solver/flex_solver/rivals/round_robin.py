"""Deals sites out to one node after the other, as if all were alike.

Takes a Problem. Returns a partition that keeps every wish. Does not look at loads, nor at the
partition in force.
"""

from __future__ import annotations

from itertools import cycle, islice

import numpy as np

from flex.placing.problem import Budget, Problem, Solution
from flex_solver.rows_to_solution import answer
from flex_solver.search.separate_rivals import separate


def place(problem: Problem, budget: Budget) -> Solution:  # noqa: ARG001  # Nothing to stop.
    nodes: list[int] = np.flatnonzero(problem.open).tolist()
    rivals = problem.rivals
    taken: dict[int, set[int]] = {site: set(problem.pinned.get(site, ())) for site in rivals}
    rows = []
    for site in range(len(problem.sites)):
        shut = problem.barred.get(site, frozenset()).union(
            *(taken[rival] for rival in rivals.get(site, ()))
        )
        chosen = _nodes_for(problem, site, [node for node in nodes if node not in shut])
        rows += [(site, node) for node in chosen]
        if site in taken:
            taken[site] |= set(chosen)
    all_rows = np.array(rows, dtype=np.int64).reshape(-1, 2)
    return answer(
        problem,
        separate(problem, np.arange(len(problem.sites)), all_rows[:0], all_rows),
        "round_robin",
    )


def _nodes_for(problem: Problem, site: int, nodes: list[int]) -> list[int]:
    """The site's pins, then the nodes from its own place in the circle on."""
    pinned = sorted(problem.pinned.get(site, frozenset()))
    first = site % max(1, len(nodes))
    others = [
        node for node in islice(cycle(nodes), first, first + len(nodes)) if node not in pinned
    ]
    return (pinned + others)[: problem.replicas[site]]

"""Site after site on node after node, as if all were alike: the simplest thing that keeps every wish.

In goes a Problem; out comes a placement that looks at neither the loads nor the placement in force.
"""

from __future__ import annotations

from itertools import cycle, islice

import numpy as np

from flex.problem import Budget, Problem, Solution
from flex_solver.answer import answer


def place(problem: Problem, budget: Budget) -> Solution:  # noqa: ARG001  # There is nothing to stop early.
    nodes: list[int] = np.flatnonzero(problem.open).tolist()
    rows = [(site, node) for site in range(len(problem.sites)) for node in _nodes_for(problem, site, nodes)]
    return answer(problem, np.array(rows, dtype=np.int64), "round_robin")


def _nodes_for(problem: Problem, site: int, nodes: list[int]) -> list[int]:
    """The site's pins, then the nodes from its own place in the circle on."""
    pinned = sorted(problem.pinned.get(site, frozenset()))
    circle = islice(cycle(nodes), site % len(nodes), site % len(nodes) + len(nodes))
    others = [node for node in circle if node not in pinned]
    return (pinned + others)[: problem.replicas[site]]

"""A partition made from nothing, largest sites first: what it would cost not to look at the placement in force.

In goes a Problem; out comes a placement that is balanced as well as that simple rule can, with its nodes named so
that as many rows as possible are in force already. It is shown for comparison, and starts nothing else.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from flex.problem import Budget, Ints, Problem, Solution
from flex_solver.answer import answer
from flex_solver.start import repair


def place(problem: Problem, budget: Budget) -> Solution:  # noqa: ARG001  # There is nothing to stop early.
    nothing = problem.old[:0]
    rows = repair(replace(problem, old=nothing), np.arange(len(problem.sites)), nothing)
    renamed = np.stack([rows[:, 0], _names(problem, rows)[rows[:, 1]]], axis=1)
    return answer(problem, renamed, "scratch")


def _names(problem: Problem, rows: Ints) -> Ints:
    """For each node of the new partition, the node of the old one that it resembles most.

    Only nodes with the same share can stand for each other, and one that a site is pinned to stands for itself.
    """
    names, taken = np.arange(len(problem.nodes)), set()
    free = problem.open.copy()
    free[sorted({node for nodes in problem.pinned.values() for node in nodes})] = False
    exchangeable = free[:, None] & free[None, :] & (problem.share[:, None] == problem.share[None, :])
    pairs = np.argwhere(exchangeable)
    best_first = np.argsort(-_alike(problem, rows)[exchangeable], kind="stable")
    unnamed = set(np.flatnonzero(free).tolist())
    for new, old in pairs[best_first].tolist():
        if new in unnamed and old not in taken:
            names[new] = old
            unnamed.remove(new)
            taken.add(old)
    return names


def _alike(problem: Problem, rows: Ints) -> Ints:
    """How many sites each new node shares with each old one."""
    count = len(problem.nodes)
    alike = np.zeros((count, count), dtype=np.int64)
    nodes_before: dict[int, list[int]] = {}
    for site, node in problem.old.tolist():
        nodes_before.setdefault(site, []).append(node)
    for site, node in rows.tolist():
        alike[node, nodes_before.get(site, [])] += 1
    return alike

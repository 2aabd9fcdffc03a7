"""What a problem's wishes allow and demand of its rows, whatever the loads are.

Takes a Problem. Returns which rows in force may stay, which sites may come to a node, how many new
rows each site needs, and how many moves a new row is. Does not look at the balance: what that
demands is in bounds/.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from flex.placing.problem import Bools, Ints, Problem


def may_stay(problem: Problem) -> Bools:
    """Which rows in force are where their sites may be."""
    able: Bools = problem.open[problem.old[:, 1]] & ~rows_among(
        problem, problem.old, problem.barred
    )
    return able


def free_to_come(problem: Problem, node: int) -> Bools:
    """The sites that are not on a node and may be: all but those barred from it or pinned to others
    altogether.
    """
    may_come = np.ones(len(problem.sites), dtype=np.bool_)
    may_come[problem.old[problem.old[:, 1] == node, 0]] = False
    pinned = [
        s
        for s, nodes in problem.pinned.items()
        if node not in nodes and len(nodes) >= problem.replicas[s]
    ]
    may_come[pinned] = False
    may_come[[site for site, nodes in problem.barred.items() if node in nodes]] = False
    return may_come


def rows_among(
    problem: Problem, rows: Ints, wishes: Mapping[int, frozenset[int]]
) -> Bools:
    """Which of the rows are wished for: those of pins, or those of bars."""
    keys = [
        site * len(problem.nodes) + node
        for site, nodes in wishes.items()
        for node in nodes
    ]
    among: Bools = np.isin(
        rows[:, 0] * len(problem.nodes) + rows[:, 1], np.array(keys, dtype=np.int64)
    )
    return among


def rows_that_may_stay(problem: Problem) -> Ints:
    """How many rows of each site are in force and may stay."""
    staying = problem.old[may_stay(problem), 0]
    return np.bincount(staying, minlength=len(problem.sites)).astype(np.int64)


def lacking(problem: Problem) -> Ints:
    """The rows of each site that are yet to come; below zero where more may stay than it needs."""
    return problem.replicas - rows_that_may_stay(problem)


def rows_demanded(problem: Problem) -> Ints:
    """For each site, the new rows that its replicas and pins alone demand, whatever the balance."""
    least: Ints = np.maximum(lacking(problem), _pins_missing(problem))
    return least


def prices(problem: Problem) -> Ints:
    """The least number of moves that a new row of each site is: less where a part is there."""
    least = (
        np.ones(len(problem.sites), dtype=np.int64)
        if problem.weight is None
        else problem.weight.copy()
    )
    if problem.partly is not None:
        spared = np.zeros_like(least)
        np.maximum.at(spared, problem.partly[:, 0], problem.partly[:, 2])
        least -= spared
    return least


def _pins_missing(problem: Problem) -> Ints:
    missing = np.zeros(len(problem.sites), dtype=np.int64)
    missing[list(problem.pinned)] = [len(nodes) for nodes in problem.pinned.values()]
    np.subtract.at(
        missing, problem.old[rows_among(problem, problem.old, problem.pinned), 0], 1
    )
    return missing

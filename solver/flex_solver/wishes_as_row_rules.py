"""What a problem's wishes allow and demand of its rows, whatever the loads are.

Takes a Problem. Says which rows in force may stay, which sites may come to a node, how many new
rows each site needs, and how many moves a new row is. Does not look at the balance: what that
demands is in bounds/.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

import numpy as np

from flex.placing.problem import Bools, Ints, Problem


class RowRules:
    """Each answer is worked out once, where it is asked for."""

    def __init__(self, problem: Problem) -> None:
        self._problem = problem

    @cached_property
    def may_stay(self) -> Bools:
        """Which rows in force are where their sites may be."""
        problem = self._problem
        able: Bools = problem.open[problem.old[:, 1]] & ~self.rows_among(
            problem.old, problem.barred
        )
        return able

    def free_to_come(self, node: int) -> Bools:
        """The sites that are not on a node and may be: all but those barred from it or pinned to
        others altogether.
        """
        problem = self._problem
        may_come = np.ones(len(problem.sites), dtype=np.bool_)
        may_come[problem.old[problem.old[:, 1] == node, 0]] = False
        pinned = [
            s
            for s, nodes in problem.pinned.items()
            if node not in nodes and len(nodes) >= problem.replicas[s]
        ]
        may_come[pinned] = False
        barred = [site for site, nodes in problem.barred.items() if node in nodes]
        may_come[barred] = False
        return may_come

    def rows_among(self, rows: Ints, wishes: Mapping[int, frozenset[int]]) -> Bools:
        """Which of the rows are wished for: those of pins, or those of bars."""
        nodes = len(self._problem.nodes)
        keys = [site * nodes + node for site, some in wishes.items() for node in some]
        among: Bools = np.isin(rows[:, 0] * nodes + rows[:, 1], np.array(keys, dtype=np.int64))
        return among

    @cached_property
    def rows_pinned(self) -> Bools:
        """Which rows in force are where their sites must be."""
        return self.rows_among(self._problem.old, self._problem.pinned)

    @cached_property
    def rows_that_may_stay(self) -> Ints:
        """How many rows of each site are in force and may stay."""
        staying = self._problem.old[self.may_stay, 0]
        sites = len(self._problem.sites)
        return np.bincount(staying, minlength=sites).astype(np.int64)

    @cached_property
    def lacking(self) -> Ints:
        """The rows of each site that are yet to come; below zero where more may stay than it
        needs.
        """
        return self._problem.replicas - self.rows_that_may_stay

    @cached_property
    def rows_demanded(self) -> Ints:
        """For each site, the new rows that its replicas and pins alone demand, whatever the
        balance.
        """
        least: Ints = np.maximum(self.lacking, self._pins_missing())
        return least

    @cached_property
    def prices(self) -> Ints:
        """The least number of moves that a new row of each site is: less where a part is there."""
        problem = self._problem
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

    def _pins_missing(self) -> Ints:
        problem = self._problem
        missing = np.zeros(len(problem.sites), dtype=np.int64)
        missing[list(problem.pinned)] = [len(some) for some in problem.pinned.values()]
        np.subtract.at(missing, problem.old[self.rows_pinned, 0], 1)
        return missing

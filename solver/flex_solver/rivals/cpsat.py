"""The same question, put to OR-tools' CP-SAT where that is installed.

Takes a Problem. Returns a partition with as few moves as were found, and among those as few cold
bytes. Where no partition is balanced, the worst node comes as near to the band as it can. Does not
use the clock: time is counted in CP-SAT's deterministic seconds, so equal input gives equal output.

CP-SAT has a process of its own. OR-tools brings its own HiGHS, and two of them in one process do
not get along.
"""

from __future__ import annotations

from collections import defaultdict
from importlib import import_module
from importlib.util import find_spec
from typing import Any, TypeAlias

import numpy as np

from flex.placing.problem import Bools, Budget, Ints, Problem, Solution
from flex.placing.score import costs
from flex_solver.programs.library_process import OwnProcess, ProcessEnded
from flex_solver.rows_to_solution import answer
from flex_solver.search.repair_wishes import repair_all

HAVE_CPSAT = find_spec("ortools") is not None

# A share in the program, which has whole numbers alone: fine enough for what the judge forgives.
SHARE = 2**24
# Steps into which the cold bytes of the dearest row are cut. A guess.
STEPS = 1000

# OR-tools ships no types.
Tool: TypeAlias = Any

_OR_TOOLS = OwnProcess("ortools.sat.python.cp_model")


def place(problem: Problem, budget: Budget) -> Solution:
    start = repair_all(problem)
    asking: Bools = np.asarray(problem.load.any(axis=1))
    sites = np.flatnonzero(asking)
    if not len(sites):
        return answer(problem, start, "cpsat")
    silent = start[~asking[start[:, 0]]]
    for relaxed in (False, True):
        try:
            rows = _OR_TOOLS.ask(_solve, problem, sites, silent, budget.seconds / 2, relaxed)
        except ProcessEnded:
            return answer(problem, start, "cpsat", note="its process ended before it answered")
        if rows is not None:
            return answer(problem, np.concatenate([rows, silent]), "cpsat")
    return answer(problem, start, "cpsat", note="nothing was found in time")


def _solve(
    problem: Problem, sites: Ints, silent: Ints, seconds: float, relaxed: bool
) -> Ints | None:
    return _Question(problem, sites, silent, relaxed=relaxed).solve(seconds)


class _Question:
    """One yes or no for each site and node it may be on."""

    def __init__(self, problem: Problem, sites: Ints, silent: Ints, *, relaxed: bool) -> None:
        self._tool: Tool = import_module("ortools.sat.python.cp_model")
        self._model: Tool = self._tool.CpModel()
        self._problem = problem
        self._there: dict[tuple[int, int], Tool] = {
            (site, node): self._model.new_bool_var("")
            for site in sites.tolist()
            for node in np.flatnonzero(problem.open).tolist()
            if node not in problem.barred.get(site, ())
        }
        self._wishes(sites, silent)
        self._worst: Tool = self._model.new_int_var(0, len(sites) * SHARE if relaxed else 0, "")
        self._bands()
        self._prices()

    def solve(self, seconds: float) -> Ints | None:
        """The rows of the best answer found in the time, None where there is none."""
        solver = self._tool.CpSolver()
        solver.parameters.num_workers = 1
        solver.parameters.max_deterministic_time = seconds
        solver.parameters.max_time_in_seconds = 4 * seconds
        if solver.solve(self._model) not in (self._tool.OPTIMAL, self._tool.FEASIBLE):
            return None
        return np.array(
            [at for at, there in self._there.items() if solver.value(there)], dtype=np.int64
        )

    def _wishes(self, sites: Ints, silent: Ints) -> None:
        problem, of_site = self._problem, defaultdict(list)
        for (site, _), there in self._there.items():
            of_site[site].append(there)
        for site in sites.tolist():
            self._model.add(sum(of_site[site]) == int(problem.replicas[site]))
        for site, nodes in problem.pinned.items():
            for node in nodes:
                if (site, node) in self._there:
                    self._model.add(self._there[site, node] == 1)
        taken = {(site, node) for site, node in silent.tolist()}
        for group in problem.apart:
            for node in range(len(problem.nodes)):
                rivals = [self._there[site, node] for site in group if (site, node) in self._there]
                free = not any((site, node) in taken for site in group)
                self._model.add(sum(rivals) <= int(free))

    def _bands(self) -> None:
        """Loads are rounded up where they must not be too much, and down where they must not be too
        little.
        """
        problem = self._problem
        on_node = defaultdict(list)
        for (site, node), there in self._there.items():
            on_node[node].append((site, there))
        for d in np.flatnonzero(problem.load.sum(axis=0) > 0).tolist():
            for node, rows in on_node.items():
                demands = [
                    (there, problem.load[site, d] / problem.share[node] * SHARE)
                    for site, there in rows
                ]
                most = int(SHARE * (1 + problem.tolerance))
                least = int(np.ceil(SHARE * (1 - problem.tolerance)))
                self._model.add(
                    sum(int(np.ceil(load)) * there for there, load in demands) <= most + self._worst
                )
                self._model.add(
                    sum(int(load) * there for there, load in demands) >= least - self._worst
                )

    def _prices(self) -> None:
        """The worst node before moves, moves before cold bytes; and all within the limits."""
        limits, rows = self._problem.limits, list(self._there)
        moves, cold = costs(self._problem, np.array(rows, dtype=np.int64)).T
        steps = -(-cold // max(1, -(-int(cold.max()) // STEPS)))
        move = int(steps.sum()) + 1
        self._model.minimize(
            self._sum(moves * move + steps, rows) + self._worst * (move * int(moves.sum()) + 1)
        )
        if limits.moves is not None:
            self._model.add(self._sum(moves, rows) <= limits.moves)
        if limits.cold_bytes is not None:
            self._model.add(self._sum(cold, rows) <= limits.cold_bytes)
        for node in range(len(self._problem.nodes)) if limits.inflow is not None else ():
            here = np.array([of == node for _, of in rows], dtype=np.bool_)
            self._model.add(self._sum(cold * here, rows) <= limits.inflow)

    def _sum(self, prices: Ints, rows: list[tuple[int, int]]) -> Tool:
        there = [self._there[row] for row in rows]
        return self._tool.LinearExpr.weighted_sum(there, prices.tolist())

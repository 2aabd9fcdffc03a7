"""Linear programs, solved by HiGHS.

Takes a Program, or columns that are added one batch after another. Returns the best values and the
duals. Does not solve integer programs: highs_integer.py does.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from typing import Any

import numpy as np

from flex.placing.problem import Floats, Ints
from flex_solver.programs.highs_program import Program, highs_with


@dataclass(frozen=True, slots=True, eq=False)
class Optimum:
    """The best point of a linear program: its cost, its values, and what each row's bound costs."""

    cost: float
    values: Floats
    duals: Floats


class Growing:
    """A linear program whose rows stand, and whose columns, which are never less than nothing,
    become more.

    Each answer starts from the one before.
    """

    def __init__(self, row_lower: Floats, row_upper: Floats) -> None:
        nothing = np.empty(0)
        self._highs = highs_with(Program(nothing, nothing, nothing, row_lower, row_upper))

    def add(self, cost: Floats, starts: Ints, row: Ints, value: Floats) -> None:
        """Column c has the terms from `starts[c]` on, up to those of the next."""
        none, most = np.zeros(len(cost)), np.full(len(cost), np.inf)
        terms = starts.astype(np.int32), row.astype(np.int32), value
        self._highs.addCols(len(cost), cost, none, most, len(row), *terms)

    def minimum(self) -> Optimum | None:
        return _optimum(self._highs)


def minimum(program: Program, until: float = math.inf) -> Optimum | None:
    """None where HiGHS did not find the optimum by then."""
    seconds = max(0.0, until - time.monotonic())
    return _optimum(highs_with(program, time_limit=seconds))


def _optimum(highs: Any) -> Optimum | None:
    import highspy

    highs.run()
    if highs.getModelStatus() != highspy.HighsModelStatus.kOptimal:
        return None
    solution = highs.getSolution()
    values, duals = np.array(solution.col_value), np.array(solution.row_dual)
    return Optimum(float(highs.getInfo().objective_function_value), values, duals)

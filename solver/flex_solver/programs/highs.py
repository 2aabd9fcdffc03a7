"""Linear and integer programs as arrays, solved by HiGHS.

Takes a Program. Returns values, and for a linear program the duals. Does not know what a program
means. Each program is solved by one thread with counted work, and the clock only as the last
resort, so equal programs have equal answers. Where a program is small enough to be written out,
PuLP is easier to read: see exact/.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from threading import Event
from typing import Any

import numpy as np

from flex.placing.problem import Bools, Floats, Ints

# What HiGHS does to find first answers.
GUESSES = ("feasibility_jump", "rins", "rens", "root_reduced_cost")

# Rules of HiGHS's presolve that it does without where its word is a proof: with both "sparsify" and
# "enumeration" some programs have another optimum than without. The one in
# tests/solver/test_highs.py comes out wrong one time in three, depending on the order of its rows,
# with HiGHS 1.15.1, and never without either rule.
DISTRUSTED = 1 << 14 | 1 << 16


@dataclass(slots=True, eq=False)
class Program:
    """Minimise cost @ x, where x lies between `lower` and `upper`, and the sums of the terms
    between the rows' bounds.

    Terms are added in batches: value[i] times x[column[i]] in row[i].
    """

    cost: Floats
    lower: Floats
    upper: Floats
    row_lower: Floats
    row_upper: Floats
    whole: Bools | None = None
    _rows: list[Ints] = field(default_factory=list)
    _columns: list[Ints] = field(default_factory=list)
    _values: list[Floats] = field(default_factory=list)

    def add(self, row: Ints, column: Ints, value: Floats | float) -> None:
        self._rows.append(np.ravel(row))
        self._columns.append(np.ravel(column))
        self._values.append(np.ravel(np.broadcast_to(value, np.shape(row))))

    def model(self) -> Any:  # highspy ships no types.
        import highspy

        none = np.empty(0, dtype=np.int64)
        row, column = (
            np.concatenate([none, *parts]) for parts in (self._rows, self._columns)
        )
        value = np.concatenate([none.astype(np.float64), *self._values])
        by_column = np.lexsort((row, column))
        model = highspy.HighsLp()
        model.num_col_, model.num_row_ = len(self.cost), len(self.row_lower)
        model.col_cost_ = self.cost
        model.col_lower_ = self.lower
        model.col_upper_ = self.upper
        model.row_lower_, model.row_upper_ = self.row_lower, self.row_upper
        model.a_matrix_.format_ = highspy.MatrixFormat.kColwise
        starts = np.concatenate(
            [[0], np.cumsum(np.bincount(column, minlength=len(self.cost)))]
        )
        model.a_matrix_.start_ = starts.astype(np.int32)
        model.a_matrix_.index_ = row[by_column].astype(np.int32)
        model.a_matrix_.value_ = value[by_column]
        if self.whole is not None:
            kinds = np.array(
                [highspy.HighsVarType.kContinuous, highspy.HighsVarType.kInteger]
            )
            model.integrality_ = kinds[self.whole.astype(np.int64)].tolist()
        return model


@dataclass(frozen=True, slots=True, eq=False)
class Optimum:
    """The best point of a linear program: its cost, its values, and what each row's bound costs."""

    cost: float
    values: Floats
    duals: Floats


def _ready(program: Program, **options: float | int | str) -> Any:
    import highspy

    highs: Any = highspy.Highs()  # type: ignore[no-untyped-call]  # highspy ships few types.
    highs.silent()
    for name, value in {"threads": 1, "random_seed": 0, **options}.items():
        highs.setOptionValue(name, value)
    highs.passModel(program.model())
    return highs


class Growing:
    """A linear program whose rows stand, and whose columns, which are never less than nothing,
    become more.

    Each answer starts from the one before.
    """

    def __init__(self, row_lower: Floats, row_upper: Floats) -> None:
        nothing = np.empty(0)
        self._highs = _ready(Program(nothing, nothing, nothing, row_lower, row_upper))

    def add(self, cost: Floats, starts: Ints, row: Ints, value: Floats) -> None:
        """Column c has the terms from `starts[c]` on, up to those of the next."""
        none, most = np.zeros(len(cost)), np.full(len(cost), np.inf)
        terms = starts.astype(np.int32), row.astype(np.int32), value
        self._highs.addCols(len(cost), cost, none, most, len(row), *terms)

    def minimum(self) -> Optimum | None:
        return _optimum(self._highs)


def minimum(program: Program) -> Optimum | None:
    """None where HiGHS did not find the optimum."""
    return _optimum(_ready(program))


def _optimum(highs: Any) -> Optimum | None:
    import highspy

    highs.run()
    if highs.getModelStatus() != highspy.HighsModelStatus.kOptimal:
        return None
    solution = highs.getSolution()
    values, duals = np.array(solution.col_value), np.array(solution.row_dual)
    return Optimum(float(highs.getInfo().objective_function_value), values, duals)


@dataclass(frozen=True, slots=True, eq=False)
class Whole:
    """The best point found of an integer program; `best` when nothing cheaper exists."""

    cost: float
    values: Floats
    best: bool


def whole_minimum(
    program: Program, hint: Floats, nodes: int, seconds: float = math.inf
) -> Whole | None:
    """The search starts from the hint and looks at so many nodes of its tree; None where it found
    nothing.
    """
    import highspy

    limits = {"mip_max_nodes": nodes, "time_limit": max(0.0, seconds)}
    highs = _ready(program, **limits, mip_rel_gap=0.0, mip_abs_gap=0.999)
    start = highspy.HighsSolution()
    start.col_value = hint.tolist()
    highs.setSolution(start)
    highs.run()
    info = highs.getInfo()
    if info.primal_solution_status != highspy.SolutionStatus.kSolutionStatusFeasible:
        return None
    best = highs.getModelStatus() == highspy.HighsModelStatus.kOptimal
    return Whole(
        float(info.objective_function_value),
        np.array(highs.getSolution().col_value),
        best,
    )


@dataclass(frozen=True, slots=True, eq=False)
class Point:
    """A point of an integer program, or the word that there is none, or neither."""

    impossible: bool
    values: Floats | None = None


def any_point(
    program: Program, seconds: float, nodes: int, unwanted: Event | None = None
) -> Point:
    """Looks at so many nodes of the tree, and guesses at nothing: most who ask expect that there is
    no point.

    It ends without a word once that is `unwanted`.
    """
    import highspy

    highs = _ready(
        program,
        mip_max_nodes=nodes,
        mip_max_improving_sols=1,
        time_limit=max(0.0, seconds),
        mip_heuristic_effort=0.0,
        presolve_rule_off=DISTRUSTED,
    )
    for name in GUESSES:
        highs.setOptionValue(f"mip_heuristic_run_{name}", False)
    if unwanted is not None:
        highs.cbMipInterrupt += lambda event: (
            event.interrupt() if unwanted.is_set() else None
        )
    highs.run()
    if highs.getModelStatus() == highspy.HighsModelStatus.kInfeasible:
        return Point(impossible=True)
    found = (
        highs.getInfo().primal_solution_status
        == highspy.SolutionStatus.kSolutionStatusFeasible
    )
    return Point(False, np.array(highs.getSolution().col_value) if found else None)

"""Integer programs, solved by HiGHS.

Takes a Program and how much of HiGHS's search tree may be looked at. Returns the best point found,
or any point, or that there is none. Does not solve linear programs: highs_linear.py does.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from threading import Event

import numpy as np

from flex.placing.problem import Floats
from flex_solver.programs.highs_program import Program, highs_with

# What HiGHS does to find first answers.
GUESSES = ("feasibility_jump", "rins", "rens", "root_reduced_cost")

# Rules of HiGHS's presolve that it does without where its word is a proof: with both "sparsify" and
# "enumeration" some programs have another optimum than without. The one in
# tests/solver/test_highs.py comes out wrong one time in three, depending on the order of its rows,
# with HiGHS 1.15.1, and never without either rule.
DISTRUSTED = 1 << 14 | 1 << 16


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
    highs = highs_with(program, **limits, mip_rel_gap=0.0, mip_abs_gap=0.999)
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
class IntegerPoint:
    """A point of an integer program, or the word that there is none, or neither."""

    impossible: bool
    values: Floats | None = None


def any_point(
    program: Program, seconds: float, nodes: int, unwanted: Event | None = None
) -> IntegerPoint:
    """Looks at so many nodes of the tree, and guesses at nothing: most who ask expect that there is
    no point.

    It ends without a word once that is `unwanted`.
    """
    import highspy

    highs = highs_with(
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
        return IntegerPoint(impossible=True)
    found = (
        highs.getInfo().primal_solution_status
        == highspy.SolutionStatus.kSolutionStatusFeasible
    )
    return IntegerPoint(
        False, np.array(highs.getSolution().col_value) if found else None
    )

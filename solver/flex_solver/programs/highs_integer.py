"""Integer programs, solved by HiGHS.

Takes a Program and how much of HiGHS's search tree may be looked at. Returns the best point found.
Does not solve linear programs: highs_linear.py does. Does not prove anything: highs_proof.py does.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from flex.placing.problem import Floats
from flex_solver.programs.highs_program import Program, highs_with


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
        float(info.objective_function_value), np.array(highs.getSolution().col_value), best
    )

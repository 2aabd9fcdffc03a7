"""What HiGHS proves of integer programs: that there is no point, or none that costs less.

Takes a Program. Returns the word of HiGHS, with points that it comes by. Does without the rules of
HiGHS that were seen to be wrong, where its word is a proof.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from threading import Event
from typing import Any

import numpy as np

from flex.placing.problem import Floats
from flex_solver.programs.highs_program import Program, highs_with

# Options that switch off every search for first answers: a good hint makes them a waste of time.
NO_GUESSES = {
    "mip_heuristic_effort": 0.0,
    **{
        f"mip_heuristic_run_{name}": False
        for name in ("feasibility_jump", "rins", "rens", "root_reduced_cost")
    },
}

# Rules of HiGHS's presolve that it does without where its word is a proof: with both "sparsify" and
# "enumeration" some programs have another optimum than without. The one in
# tests/solver/test_highs.py comes out wrong one time in three, depending on the order of its rows,
# with HiGHS 1.15.1, and never without either rule.
DISTRUSTED = 1 << 14 | 1 << 16


@dataclass(frozen=True, slots=True, eq=False)
class Least:
    """No point costs less than `cost`: endless where there is none, and below all numbers where
    nothing is known. `is_all`: with more time nothing else would be known.
    """

    cost: float
    is_all: bool


def least_of(
    program: Program,
    nodes: int,
    until: float,
    is_enough: Callable[[float], bool],
    note_point: Callable[[Floats], None] | None = None,
    hint: Floats | None = None,
) -> Least:
    """HiGHS ends after so many nodes of its tree, at `until`, or as soon as what it has proven so
    far `is_enough`. Each better point is noted as it is found. Then HiGHS guesses at points and
    does without no rule: the least is no proof.
    """
    import highspy

    highs = highs_with(
        program,
        mip_max_nodes=nodes,
        time_limit=max(0.0, until - time.monotonic()),
        mip_rel_gap=0.0,
        mip_abs_gap=0.999,
        **({} if note_point else {"presolve_rule_off": DISTRUSTED, **NO_GUESSES}),
    )
    if hint is not None:
        start = highspy.HighsSolution()
        start.col_value = hint.tolist()
        highs.setSolution(start)

    def end(event: Any) -> None:  # highspy ships few types.
        if time.monotonic() > until or is_enough(event.data_out.mip_dual_bound):
            event.interrupt()

    highs.cbMipInterrupt += end
    if note_point is not None:
        highs.cbMipImprovingSolution += lambda event: note_point(
            np.array(event.data_out.mip_solution)
        )
    highs.run()
    if note_point is not None and _has_point(highs):
        # HiGHS does not tell of each last point while it runs.
        note_point(np.array(highs.getSolution().col_value))
    status = highs.getModelStatus()
    if status == highspy.HighsModelStatus.kInfeasible:
        return Least(math.inf, True)
    is_all = status == highspy.HighsModelStatus.kOptimal
    return Least(float(highs.getInfo().mip_dual_bound), is_all)


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
        presolve_rule_off=DISTRUSTED,
        **NO_GUESSES,
    )
    if unwanted is not None:
        highs.cbMipInterrupt += lambda event: event.interrupt() if unwanted.is_set() else None
    highs.run()
    if highs.getModelStatus() == highspy.HighsModelStatus.kInfeasible:
        return IntegerPoint(impossible=True)
    return IntegerPoint(
        False, np.array(highs.getSolution().col_value) if _has_point(highs) else None
    )


def _has_point(highs: Any) -> bool:
    import highspy

    status = highs.getInfo().primal_solution_status
    return bool(status == highspy.SolutionStatus.kSolutionStatusFeasible)

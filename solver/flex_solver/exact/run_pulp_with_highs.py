"""Solves PuLP's models with HiGHS.

Takes a model with its objective and an Effort. Puts values into the model's variables, and returns
whether they are proven to be the best. Does not write the model: integer_program.py does.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from threading import Event
from typing import Any

import pulp

from flex_solver.programs.highs_proof import DISTRUSTED, NO_GUESSES

# PuLP 4 needs Python 3.12. Its reminders are for the day when that is our oldest Python.
pulp.set_v4_migration_warnings(False)


class Impossible(Exception):
    """No partition satisfies the program."""


class NoAnswer(Exception):
    """The solver ended without saying anything of use."""


@dataclass(frozen=True, slots=True)
class Effort:
    """How long to search, and how near to the least cost is near enough.

    `hint` are values to start from. With `polish`, they are good ones: no time goes into guesses at
    others. HiGHS looks at no more than `nodes` cases, so that a search that ends before its proof
    ends the same way each time, and at none from when its answer is `unwanted`.
    """

    seconds: float
    gap: float
    hint: Mapping[str, float] | None = None
    polish: bool = False
    nodes: int | None = None
    unwanted: Event | None = None


def run(model: Any, effort: Effort) -> bool:
    """Whether the answer found is proven to be the best. Raises Impossible, and NoAnswer where none
    was found.
    """
    try:
        model.solve(_Hinted(effort))
    except pulp.PulpSolverError as error:
        raise NoAnswer(str(error)) from error
    if model.status in (pulp.LpStatusInfeasible, pulp.LpStatusUndefined):
        raise Impossible
    if model.sol_status not in (pulp.LpSolutionOptimal, pulp.LpSolutionIntegerFeasible):
        raise NoAnswer(f"nothing was found in {effort.seconds:.0f} s")
    return bool(model.sol_status == pulp.LpSolutionOptimal)


class _Hinted(pulp.HiGHS):  # type: ignore[misc]  # PuLP ships no types.
    """HiGHS, started from a hint."""

    def __init__(self, effort: Effort) -> None:
        options: dict[str, object] = {
            "presolve_rule_off": DISTRUSTED,
            **(NO_GUESSES if effort.polish else {}),
        }
        if effort.nodes is not None:
            options["mip_max_nodes"] = effort.nodes
        seconds = max(0.0, effort.seconds)
        super().__init__(
            msg=False, timeLimit=seconds, gapAbs=effort.gap, gapRel=0.0, threads=1, **options
        )
        self._hint, self._unwanted = effort.hint, effort.unwanted

    def findSolutionValues(self, lp: Any) -> tuple[int, int]:  # noqa: N802  # PuLP's own name.
        with suppress(KeyError):
            status: tuple[int, int] = super().findSolutionValues(lp)
            return status
        # PuLP has the values, and no word for a search that a count of cases ended: the hint was
        # one answer at least.
        return pulp.LpStatusOptimal, pulp.LpSolutionIntegerFeasible

    def callSolver(self, lp: Any) -> None:  # noqa: N802  # PuLP's own name.
        import highspy

        if self._hint is not None:
            start = highspy.HighsSolution()
            # Where nothing costs anything, PuLP adds a variable of its own.
            start.col_value = [self._hint.get(variable.name, 0.0) for variable in lp.variables()]
            lp.solverModel.setSolution(start)
        if self._unwanted is not None:
            lp.solverModel.cbMipInterrupt += self._interrupt
        super().callSolver(lp)

    def _interrupt(self, event: Any) -> None:
        if self._unwanted is not None and self._unwanted.is_set():
            event.interrupt()

"""A program that is put together from parts, each of which has some of its rows.

Takes costs and limits of the columns, and sums. Returns a Program. Does not know what a sum means.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from flex.placing.problem import Bools, Floats, Ints
from flex_solver.programs.highs_program import Program


@dataclass(frozen=True, slots=True, eq=False)
class Sums:
    """Rows of a program: their limits and their terms, each with the row, the column and what that
    counts.
    """

    low: Floats
    high: Floats
    terms: tuple[tuple[Ints, Ints, Floats | float], ...]


def program_with(
    cost: Floats, lower: Floats, upper: Floats, whole: Bools, sums: Iterable[Sums]
) -> Program:
    """Its rows are those of all these sums, in their order."""
    sums = tuple(sums)
    program = Program(
        cost=cost,
        lower=lower,
        upper=upper,
        row_lower=np.concatenate([part.low for part in sums]),
        row_upper=np.concatenate([part.high for part in sums]),
        whole=whole,
    )
    first = 0
    for part in sums:
        for row, column, value in part.terms:
            program.add(first + row, column, value)
        first += len(part.low)
    return program

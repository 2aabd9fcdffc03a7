"""What HiGHS says of integer programs, where a proof rests on it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import highspy
import numpy as np
import pulp
import pytest

from flex_solver.exact import run_pulp_with_highs

# The cold bytes of one cluster, to be brought down.
PROGRAM = Path(__file__).parents[1] / "data/solver/sparsified.lp"
# The fewest of them, in the program's units, as the definition of balance finds.
FEWEST = 187


@pytest.mark.parametrize("seed", range(12))
def test_the_optimum_is_the_same_in_whatever_order_rows_and_columns_come(seed: int) -> None:
    model = shuffled(np.random.default_rng(seed))
    assert run_pulp_with_highs.run(model, run_pulp_with_highs.Effort(seconds=60.0, gap=0.5))
    assert round(pulp.value(model.objective)) == FEWEST


def shuffled(random: np.random.Generator) -> Any:
    program = _read()
    matrix = np.zeros((program.num_row_, program.num_col_))
    of_column = np.repeat(np.arange(program.num_col_), np.diff(program.a_matrix_.start_))
    matrix[program.a_matrix_.index_, of_column] = program.a_matrix_.value_
    model: Any = pulp.LpProblem("shuffled", pulp.LpMinimize)  # PuLP ships no types.
    bounds = list(zip(program.col_lower_, program.col_upper_, strict=True))
    columns = {
        c: model.add_variable(f"c{c}", *bounds[c], "Integer")
        for c in random.permutation(len(bounds)).tolist()
    }
    model += pulp.lpSum(columns[c] * program.col_cost_[c] for c in columns)
    for r in random.permutation(len(matrix)).tolist():
        terms = pulp.lpSum(columns[c] * matrix[r, c] for c in columns if matrix[r, c])
        low, high = program.row_lower_[r], program.row_upper_[r]
        if low == high:
            model += terms == low
        elif high < highspy.kHighsInf:
            model += terms <= high
        else:
            model += terms >= low
    return model


def _read() -> Any:  # highspy ships few types.
    asked: Any = highspy.Highs()  # type: ignore[no-untyped-call]  # The same.
    asked.silent()
    assert asked.readModel(str(PROGRAM)) == highspy.HighsStatus.kOk
    return asked.getLp()

"""A linear or integer program as arrays, and HiGHS with that program in it.

Takes a Program. Returns HiGHS, ready to run. Does not run it: highs_linear.py, highs_integer.py and
highs_proof.py do. Does not know what a program means. Each program is solved by one thread with
counted work, and the clock only as the last resort, so equal programs have equal answers. Where a
program is small enough to be written out, PuLP is easier to read: see exact/.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from flex.placing.problem import Bools, Floats, Ints


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
        row, column = (np.concatenate([none, *parts]) for parts in (self._rows, self._columns))
        value = np.concatenate([none.astype(np.float64), *self._values])
        by_column = np.lexsort((row, column))
        model = highspy.HighsLp()
        model.num_col_, model.num_row_ = len(self.cost), len(self.row_lower)
        model.col_cost_ = self.cost
        model.col_lower_ = self.lower
        model.col_upper_ = self.upper
        model.row_lower_, model.row_upper_ = self.row_lower, self.row_upper
        model.a_matrix_.format_ = highspy.MatrixFormat.kColwise
        starts = np.concatenate([[0], np.cumsum(np.bincount(column, minlength=len(self.cost)))])
        model.a_matrix_.start_ = starts.astype(np.int32)
        model.a_matrix_.index_ = row[by_column].astype(np.int32)
        model.a_matrix_.value_ = value[by_column]
        if self.whole is not None:
            kinds = np.array([highspy.HighsVarType.kContinuous, highspy.HighsVarType.kInteger])
            model.integrality_ = kinds[self.whole.astype(np.int64)].tolist()
        return model


def highs_with(program: Program, **options: float | int | str) -> Any:
    import highspy

    highs: Any = highspy.Highs()  # type: ignore[no-untyped-call]  # highspy ships few types.
    highs.silent()
    for name, value in {"threads": 1, "random_seed": 0, **options}.items():
        highs.setOptionValue(name, value)
    highs.passModel(program.model())
    return highs

"""A problem whose pins are kept already, for the bounds.

Takes a Problem. Returns one in which each pinned row that is missing is in force, and rows that
pins leave no place for are not, with the moves that this takes. All partitions that keep the pins
have these rows and lack the others. So a partition has as many moves as in the new problem, and
those moves in addition. Does not move any other row.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from flex.placing import score
from flex.placing.problem import Bools, Ints, Problem, sort_by_site
from flex_solver.wishes_as_row_rules import RowRules


@dataclass(frozen=True, slots=True, eq=False)
class PinsKept:
    """`stays` says which rows of the old problem are in force in the new one as well."""

    problem: Problem
    moves: int
    stays: Bools


def keep_pins(problem: Problem) -> PinsKept:
    pins = [(site, node) for site, nodes in problem.pinned.items() for node in sorted(nodes)]
    rules = RowRules(problem)
    filled = np.zeros(len(problem.sites), dtype=np.bool_)
    filled[
        [site for site, nodes in problem.pinned.items() if len(nodes) >= problem.replicas[site]]
    ] = True
    stays: Bools = ~filled[problem.old[:, 0]] | rules.rows_pinned
    new = score.new_rows(problem, sort_by_site(np.array(pins, dtype=np.int64).reshape(-1, 2)))
    if stays.all() and not len(new):
        return PinsKept(problem, 0, stays)
    kept = replace(
        problem,
        old=sort_by_site(np.concatenate([problem.old[stays], new])),
        partly=_partly_rows_left(problem, new),
    )
    return PinsKept(kept, score.moves(problem, new), stays)


def _partly_rows_left(problem: Problem, new: Ints) -> Ints | None:
    """What is there in part, where it is not there in whole now."""
    if problem.partly is None:
        return None
    here = new[:, 0] * len(problem.nodes) + new[:, 1]
    keys = problem.partly[:, 0] * len(problem.nodes) + problem.partly[:, 1]
    return problem.partly[~np.isin(keys, here)]

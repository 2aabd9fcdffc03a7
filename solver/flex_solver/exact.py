"""The fewest moves there can be, proven: for clusters whose integer program is small.

In goes a Problem; out comes, of all balanced placements, the one with the fewest moved rows, of those the one with
the fewest cold bytes, and of those always the same one. Where no placement is balanced, the worst node is brought as
near to the band as it can be, and the other nodes too, as long as each move brings enough load back for it.

Sites without load stay out of the program: they move only when their node is closed.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from flex import score
from flex.problem import Budget, Ints, Problem, Solution
from flex_solver import bound, ilp
from flex_solver.answer import answer
from flex_solver.start import repair

# With more moves than this times nodes, which of equally cheap placements comes out is left to the solver's own order.
FEW_TARGETS = 600

Clock = Callable[[], float]


@dataclass(frozen=True, slots=True, eq=False)
class _Answer:
    """`bound`: how few moves are known to be enough, where that is more than counting knows."""

    rows: Ints
    bound: int | None
    note: str = ""


def place(problem: Problem, budget: Budget, *, highs: bool = ilp.HAVE_HIGHS) -> Solution:
    """The budget's steps mean nothing here: the search ends with a proof, or with the seconds."""
    until = time.monotonic() + budget.seconds
    loaded, silent = (np.flatnonzero(problem.load.any(axis=1) == asks) for asks in (True, False))
    try:
        found = _search(problem, loaded, lambda: max(0.0, until - time.monotonic()), highs)
    except ilp.NoAnswer as error:
        found = _Answer(repair(problem, loaded, problem.old[:0]), None, f"no exact answer: {error}")
    rows = np.concatenate([found.rows, repair(problem, silent, found.rows)])
    forced = int(bound.wishes(problem)[silent].sum())
    return answer(problem, rows, "exact", least=None if found.bound is None else found.bound + forced, note=found.note)


def _search(problem: Problem, sites: Ints, left: Clock, highs: bool) -> _Answer:
    if not len(sites):
        return _Answer(problem.old[:0], 0)
    of_kind = ilp.kinds(problem, sites.tolist())
    program = ilp.Program(problem, of_kind, relaxed=False, highs=highs)
    try:
        found = program.minimise(program.moves(), left())
    except ilp.Impossible:
        forced = int(bound.wishes(problem)[sites].sum())
        rows, note = _best_effort(problem, of_kind, left, highs)
        return _Answer(rows, forced, note)
    settled = _settle(program, found, left)
    rows = program.rows(settled)
    if not found.best:
        return _Answer(rows, None, "out of time before the proof that fewer moves cannot do")
    note = "" if settled.best else "out of time while choosing among plans with as few moves: another run may differ"
    return _Answer(rows, len(score.moved(problem, rows)), note)


def _best_effort(problem: Problem, of_kind: tuple[ilp.Kind, ...], left: Clock, highs: bool) -> tuple[Ints, str]:
    """The worst node as near to the band as can be, to a tenth of the tolerance.

    Then all nodes, where a move is worth it that brings a tolerance's worth of load back into the band: to bring
    down the last bit would take a new partition, and still not be balanced.
    """
    band = problem.tolerance * ilp.SHARE
    program = ilp.Program(problem, of_kind, relaxed=True, highs=highs)
    nearest = program.minimise(program.worst(), left() / 2, within=band / 20)
    found = _next(program, program.outside(price=band), left(), nearest, within=band)
    note = "no placement is balanced" + ("" if nearest.best else ", and time ran out before the nearest was found")
    return program.rows(found), note


def _settle(program: ilp.Program, found: ilp.Found, left: Clock) -> ilp.Found:
    """Of the placements with as few moves, one with the fewest cold bytes; then, of the same moves, always the same."""
    found = _next(program, program.cold(), left(), found)
    if program.open_choices(found) > FEW_TARGETS:
        return found
    program.keep_sources(found)
    return _next(program, program.any_order(), left(), found)


def _next(
    program: ilp.Program, cost: ilp.Cost, seconds: float, found: ilp.Found, *, within: float | None = None
) -> ilp.Found:
    """The answer so far stands where time runs out on a better one."""
    try:
        return program.minimise(cost, seconds, within=within)
    except (ilp.NoAnswer, ilp.Impossible):
        return replace(found, best=False)

"""What answers of solvers claim, held to the definition: proofs, bounds, and that nothing less
would do.

In go a Problem and an answer; out come sentences about claims that are not true.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import chain

import numpy as np

from flex.model.best_effort_shortfalls import EITHER, PINS, RESTING, Relaxation
from flex.placing import score
from flex.placing.problem import MoveLimits, Problem, Solution
from flex_solver import SOLVERS
from tests.solver import definition
from tests.solver.anything import anything
from tests.unhurried import unhurried

# Few steps, so that searches are often wrong and a proof has something to say.
BRIEF = unhurried(300)
# The solvers that prove something, and on which part of the problems each is asked: `auto` is one
# of the two others. What they do not do is count alone, and so do all others.
PROVING = {"exact": 1, "large": 2, "auto": 5}
# A tolerance is said to three digits.
NEXT_TOLERANCE = 0.002


@dataclass(slots=True)
class Held:
    """What was looked at, as counts, and what was not true."""

    counts: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)


def held(numbers: Iterable[int], proving: Mapping[str, int] = PROVING) -> Held:
    """The claims of the solvers that prove something, and of one of the others in turn, on problems
    by number.
    """
    found = Held()
    others = [name for name in SOLVERS if name not in (*PROVING, "cpsat")]
    for number in numbers:
        problem = anything(number)
        best = definition.fewest(problem)
        if best is not None:
            assert (
                score.violations(problem, np.array(best.rows, dtype=np.int64).reshape(-1, 2)) == ()
            ), number
        found.counts += Counter(problems=1, feasible=int(best is not None))
        for name in (
            *(name for name, part in proving.items() if number % part == 0),
            others[number % len(others)],
        ):
            answer = SOLVERS[name](problem, BRIEF)
            found.counts += Counter({f"{name} asked": 1, f"{name} proven": int(answer.proven)})
            found.wrong += [f"{number}: {name} {said}" for said in untrue(problem, answer, best)]
    return found


def untrue(problem: Problem, answer: Solution, best: definition.Fewest | None) -> Iterator[str]:
    moves, broken = (score.moves(problem, answer.rows), score.violations(problem, answer.rows))
    yield from _about_moves(answer, moves, best, balanced=not broken)
    if best is not None and answer.proven and not answer.note and answer.solver == "exact":
        cold = score.cold_bytes(problem, answer.rows)
        if cold != best.cold:
            yield f"reads {cold} cold bytes as the fewest, where {best.cold} do"
    for one in chain.from_iterable(short.instead for short in answer.shortfalls):
        if one.least and not _is_least(problem, one):
            yield f"says {one} though less would do"


def _about_moves(
    answer: Solution, moves: int, best: definition.Fewest | None, *, balanced: bool
) -> Iterator[str]:
    if answer.proven and not balanced:
        yield "calls a placement proven that breaks a rule"
    if best is None:
        if balanced:
            yield "balances what the definition cannot balance: one of them is wrong"
        return
    if balanced and moves < best.moves:
        yield f"makes {moves} moves where the definition needs {best.moves}: one of them is wrong"
    if answer.bound > best.moves:
        yield f"says that {answer.bound} moves are needed, where {best.moves} do"
    if answer.proven and moves != best.moves:
        yield f"calls {moves} moves proven, where {best.moves} do"


def _is_least(problem: Problem, one: Relaxation) -> bool:
    """Whether less than what is said would not do. Nothing is known here of what is about wishes
    for company.
    """
    limits = problem.limits
    match one.rule:
        case "moves":
            found = definition.fewest(replace(problem, limits=replace(limits, moves=None)))
            return found is None or found.moves >= one.enough
        case "cold bytes":
            cold = definition.fewest_cold_bytes(
                replace(problem, limits=replace(limits, cold_bytes=None))
            )
            return cold is None or cold >= one.enough
        case "bytes into a node":
            less = replace(limits, inflow=round(one.enough) - 1)
            return definition.fewest(replace(problem, limits=less)) is None
        case "tolerance":
            less_wide = replace(problem, tolerance=one.enough - NEXT_TOLERANCE, limits=MoveLimits())
            return definition.fewest(less_wide) is None
        case rule if rule in (PINS, RESTING, EITHER):
            back = definition.fewest_pins_taken_back(problem)
            return back is None or back >= one.enough
    return True

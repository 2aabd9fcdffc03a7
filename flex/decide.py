"""Whether anything is moved at all, and if so, for how narrow a balance.

In go a Problem and a solver; out come the rows to have next. A new site, a new pin or a node taken out of service is
repaired within the imbalance that starts no plan of its own; only beyond that is the whole cluster balanced anew.
"""

from __future__ import annotations

from dataclasses import replace

from flex import score
from flex.domain import Proven
from flex.errors import Infeasible
from flex.ports import Solver
from flex.problem import Budget, Ints, Problem, Solution


def decide(asked: Problem, solver: Solver, budget: Budget, *, trigger: float, margin: float) -> tuple[Ints, Proven]:
    """The rows to have next, which may be those in force, and how good they are. Raises Infeasible."""
    now_broken = [broken for broken in score.violations(asked, asked.old) if broken.is_wish]
    worst = score.balance_in_force(asked).worst
    if worst <= trigger:
        if not now_broken:
            note = f"the worst node is {worst:.1%} off, within the trigger of {trigger:.1%}: nothing moves"
            return asked.old, Proven("none needed", bound=0, proven=True, note=note)
        # A new site or a new pin is no reason to rebalance: what the trigger tolerates is tolerated all the same.
        repaired = _solved(replace(asked, tolerance=max(trigger, asked.tolerance)), solver, budget)
        if score.balance(asked, repaired.rows).worst <= trigger:
            return repaired.rows, _quality(repaired)
    solution = _solved(asked, solver, budget)
    reached = score.balance(asked, solution.rows).worst
    if not now_broken and worst - reached < margin:
        note = (
            f"the best plan found betters the worst node by {worst - reached:.1%}, less than the margin of {margin:.1%}"
        )
        return asked.old, Proven(solution.solver, bound=0, proven=False, note=note)
    # The bound is one on balanced placements: of a best effort it says nothing.
    return solution.rows, _quality(
        solution if reached <= asked.tolerance + score.ROUNDING else replace(solution, bound=0)
    )


def _solved(asked: Problem, solver: Solver, budget: Budget) -> Solution:
    solution = solver(asked, budget)
    _refuse_broken_wishes(asked, solution.rows)
    return solution


def _quality(solution: Solution) -> Proven:
    return Proven(solution.solver, solution.bound, solution.proven, solution.note, solution.shortfalls)


def _refuse_broken_wishes(asked: Problem, rows: Ints) -> None:
    broken = [violation for violation in score.violations(asked, rows) if violation.is_wish]
    if broken:
        named = "; ".join(f"{violation.kind}: {violation.subject}" for violation in broken[:5])
        raise Infeasible(
            "a placement that keeps every wish",
            f"{len(broken)} cannot be kept ({named})",
            kept="the placement in force stays",
            advice="take back a pin with `flex sites unpin`, or take a node back with `flex nodes undrain`",
        )

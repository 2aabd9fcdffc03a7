"""The solvers by name. A solver is one file and one line here.

Takes a Problem. Returns a Solution. Does not judge the Solution: flex.placing.score does. Does not
ask solvers to keep sites together: they get each group as one site. All solvers but the first four
are there for comparison.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from flex.errors import BadInput
from flex.model.best_effort_shortfalls import EITHER, PINS
from flex.placing import score
from flex.placing.bundles import Bundles, bundle_groups
from flex.placing.problem import Budget, Problem, Solution
from flex.placing.score import Violation
from flex.placing.why_best_effort import shortfalls, text
from flex.ports import Solver
from flex_solver import auto, from_scratch, large
from flex_solver.exact import fewest_moves
from flex_solver.rivals import (
    cpsat,
    fewest_moves_by_chance,
    greedy,
    hacc_rival,
    hill_climbing,
    round_robin,
)
from flex_solver.rows_to_solution import BEST_EFFORT
from flex_solver.search import local_solver


def _wrap_in_bundles(solver: Solver) -> Solver:
    def place(problem: Problem, budget: Budget) -> Solution:
        _check(problem)
        bundles = bundle_groups(problem)
        solution = _leave_out_miscounted_pins(problem, bundles, solver(bundles.problem, budget))
        return _add_hidden_shortfalls(
            problem,
            bundles,
            replace(
                solution,
                rows=bundles.rows(solution.rows),
                certificate=_name_sites(bundles, solution.certificate),
            ),
        )

    return place


def _name_sites(
    bundles: Bundles, certificate: Mapping[str, Any] | None
) -> Mapping[str, Any] | None:
    """A bundle goes by the first of its sites."""
    if certificate is None:
        return None
    first = np.unique(bundles.of, return_index=True)[1]
    sites, prices = certificate["prices"]
    return {**certificate, "prices": [first[sites].tolist(), prices]}


def _leave_out_miscounted_pins(problem: Problem, bundles: Bundles, solution: Solution) -> Solution:
    """Says nothing of pins taken back where one pin of a bundle is the pins of several sites: the
    solver counted it once.
    """
    if _count_pins(problem) == _count_pins(bundles.problem):
        return solution
    left = tuple(
        replace(
            shortfall,
            instead=tuple(each for each in shortfall.instead if each.rule not in (PINS, EITHER)),
        )
        for shortfall in solution.shortfalls
    )
    old_text, new_text = ("; ".join(map(text, some)) for some in (solution.shortfalls, left))
    return replace(solution, shortfalls=left, note=solution.note.replace(old_text, new_text, 1))


def _count_pins(problem: Problem) -> int:
    return sum(map(len, problem.pinned.values()))


def _add_hidden_shortfalls(problem: Problem, bundles: Bundles, solution: Solution) -> Solution:
    """A bundle can be where its sites cannot, as some are to be apart as well, or on other numbers
    of nodes.
    """
    if not problem.together:
        return solution
    broken = {
        (violation.kind, violation.subject)
        for violation in score.violations(problem, solution.rows)
        if _is_hidden(problem, bundles, violation)
    }
    if not broken:
        return solution
    hidden = [
        shortfall
        for shortfall in shortfalls(problem, solution.rows)
        if (shortfall.kind, shortfall.subject) in broken
    ]
    hidden_text = "; ".join(map(text, hidden))
    note = "; ".join(filter(None, [hidden_text, solution.note.removeprefix(BEST_EFFORT)]))
    return replace(
        solution,
        proven=False,
        note=f"{BEST_EFFORT}{note}",
        shortfalls=(*hidden, *solution.shortfalls),
    )


def _is_hidden(problem: Problem, bundles: Bundles, broken: Violation) -> bool:
    of = bundles.of[list(broken.sites)].tolist()
    if broken.kind == "replicas":
        return bool(problem.replicas[broken.sites[0]] != bundles.problem.replicas[of[0]])
    return broken.kind == "apart" and len(set(of)) < len(of)


def _check(problem: Problem) -> None:
    """Raises BadInput for loads that no arithmetic could balance."""
    senseless = np.argwhere(~(np.isfinite(problem.load) & (problem.load >= 0)))
    if len(senseless):
        site, dimension = senseless[0].tolist()
        raise BadInput(
            f"a place for {problem.sites[site]}",
            f"its {problem.dimensions[dimension]} is {problem.load[site, dimension]}",
            kept="the partition in force stays",
            advice="loads are finite numbers of zero or more; look where this one comes from",
        )


SOLVERS: dict[str, Solver] = {
    "auto": _wrap_in_bundles(auto.place),
    "exact": _wrap_in_bundles(fewest_moves.place),
    "large": _wrap_in_bundles(large.place),
    "local": _wrap_in_bundles(local_solver.place),
    "closest": _wrap_in_bundles(fewest_moves_by_chance.place),
    "greedy": _wrap_in_bundles(greedy.greedy),
    "hill": _wrap_in_bundles(hill_climbing.place),
    "keep": _wrap_in_bundles(greedy.keep),
    "offload": _wrap_in_bundles(hacc_rival.place),
    "round_robin": _wrap_in_bundles(round_robin.place),
    "scratch": _wrap_in_bundles(from_scratch.place),
    **({"cpsat": _wrap_in_bundles(cpsat.place)} if cpsat.HAVE_CPSAT else {}),
}

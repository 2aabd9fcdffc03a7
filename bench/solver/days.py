"""Thirty days of drift: what balancing every day costs, and what waiting for a trigger saves.

Every day the loads of all sites wander a little further. FLEX acts on the days on which a node is
further from its fair share than the trigger, and then aims for a narrower band; beside it stand
acting every day and a partition made from nothing every day. The same again with a node drained on
the tenth day, with a node added, and with a fifth of the large sites pinned.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from bench.figures import Figures, keep
from bench.solver.family import cluster
from flex.placing import score
from flex.placing.problem import Budget, Floats, Ints, Problem
from flex.planning.decide_moves_of_tonight import decide
from flex_solver import SOLVERS

# Sites of the cluster.
SITES = 1_000
# Nodes of the cluster.
NODES = 12
# Days that the cluster lives through: a month.
DAYS = 30
# The day on which the cluster itself changes: a node goes or comes.
CHANGE = 10
# A site's load is exp(x). This part of x is kept from day to day. A guess.
KEPT = 0.9
# The standard deviation of what is added to x each day. A guess.
SHAKEN = 0.1
TRIGGERS = {"every_day": 0.0, "above_5": 0.05, "above_10": 0.10}
# The tolerance that FLEX aims for when it acts: narrower than its trigger.
AIM = 0.03
BUDGET = Budget(steps=200_000, seconds=20.0)

Change = Callable[[Problem, int], Problem]
Act = Callable[[Problem], Ints]


@dataclass(frozen=True, slots=True)
class Month:
    moves: int
    acted: int
    worst: tuple[float, ...]


def measure() -> Figures:
    figures: Figures = {}
    for scenario, change in SCENARIOS.items():
        start = _balance(change)
        for policy, act in POLICIES.items():
            month = live(start, act, change)
            name = f"days_{scenario}_{policy}"
            figures |= {
                f"{name}_moves": month.moves,
                f"{name}_days_acted": month.acted,
                f"{name}_worst_mean": round(float(np.mean(month.worst)), 4),
                f"{name}_worst_max": round(max(month.worst), 4),
                f"{name}_worst_percent_by_day": " ".join(
                    f"{100 * worst:.1f}" for worst in month.worst
                ),
            }
            keep("solver-days", figures)
            print(f"{scenario}, {policy}: {month.moves} moves on {month.acted} days", flush=True)
    return figures


def live(start: Problem, act: Act, change: Change) -> Month:
    """What the days do to a cluster that somebody looks after."""
    rows, moves, acted, worst = start.old, 0, 0, []
    for day, factor in enumerate(_wander(len(start.sites))):
        today = change(_with_load(start, start.load * factor), day)
        today = replace(today, old=rows)
        rows = act(today)
        moved = len(score.new_rows(today, rows))
        moves, acted = moves + moved, acted + bool(moved)
        worst.append(score.balance(today, rows).worst)
    return Month(moves, acted, tuple(worst))


def _above(trigger: float) -> Act:
    return lambda today: decide(today, SOLVERS["auto"], BUDGET, trigger=trigger, margin=0.0).rows


def _from_scratch(today: Problem) -> Ints:
    return SOLVERS["scratch"](today, BUDGET).rows


def _balance(change: Change) -> Problem:
    """A cluster on its first morning, in balance and with its wishes kept."""
    problem = change(cluster(SITES, NODES, seed=1, tolerance=AIM), 0)
    return replace(problem, old=SOLVERS["scratch"](problem, BUDGET).rows)


def _wander(sites: int) -> Iterator[Floats]:
    """How much each site's loads differ from the first day's, day by day; the two loads go together
    by half.
    """
    random = np.random.default_rng(7)
    exponent = np.zeros((sites, 2))
    for _ in range(DAYS):
        shake = random.standard_normal((sites, 2))
        shake[:, 1] = 0.5 * shake[:, 0] + np.sqrt(0.75) * shake[:, 1]
        exponent = KEPT * exponent + SHAKEN * shake
        yield np.exp(exponent)


def _with_load(problem: Problem, load: Floats) -> Problem:
    total = (load * problem.replicas[:, None]).sum(axis=0)
    return replace(problem, load=load * problem.share.sum() / total)


def _as_it_is(problem: Problem, day: int) -> Problem:  # noqa: ARG001  # Every day is the same.
    return problem


def _with_drained_node(problem: Problem, day: int) -> Problem:
    """The last node is closed from the day of the change on."""
    return _with_open(problem, len(problem.nodes) - (day >= CHANGE))


def _with_added_node(problem: Problem, day: int) -> Problem:
    """The last node is open only from the day of the change on."""
    return _with_open(problem, len(problem.nodes) - (day < CHANGE))


def _with_open(problem: Problem, count: int) -> Problem:
    is_open = np.arange(len(problem.nodes)) < count
    changed = replace(problem, open=is_open, share=np.where(is_open, 100.0, 0.0))
    return _with_load(changed, changed.load)


def _with_pins(problem: Problem, day: int) -> Problem:  # noqa: ARG001  # The pins hold all month.
    """A fifth of those that were the hundred largest sites on the first day is pinned to nodes in
    turn.
    """
    if problem.pinned:
        return problem
    largest = np.argsort(-problem.load.max(axis=1), kind="stable")[:100]
    nodes = len(problem.nodes)
    return replace(
        problem,
        pinned={
            int(s): frozenset({n % nodes}) for n, s in enumerate(sorted(largest[::5].tolist()))
        },
    )


POLICIES: dict[str, Act] = {
    **{name: _above(trigger) for name, trigger in TRIGGERS.items()},
    "scratch": _from_scratch,
}
SCENARIOS: dict[str, Change] = {
    "drift": _as_it_is,
    "drained": _with_drained_node,
    "added": _with_added_node,
    "pinned": _with_pins,
}

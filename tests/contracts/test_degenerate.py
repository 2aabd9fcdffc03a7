"""Input that nobody plans for: each kind gets a stated answer or a clear error, and takes few steps
to it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from flex import native_or_python
from flex.errors import FlexError
from flex.frame_schemas import PLACEMENT, PROFILES, SPREADS
from flex.model.nodes import Node
from flex.model.wish import Pin
from flex.placing import problem as problems
from flex.placing import score
from flex.placing.problem import DIMENSIONS, Budget, Problem, Solution
from flex_solver import SOLVERS
from tests.effort import TIMES, calls, grows_with

# Calls of functions: an answer or an error takes at most a quarter of them, which is less than a
# tenth of a second. Where loops are Python's own, more of their steps are calls.
FEW = 100_000 if native_or_python.NATIVE else 2_000_000
# Steps end it, however slow the machine is.
BUDGET = Budget(steps=2_000, seconds=600.0)


def equal_sites(sites: int, nodes: int, *, load: float = 1.0) -> Problem:
    """Each node has as many as the next, as near as whole numbers go."""
    every = np.arange(sites)
    return Problem(
        dimensions=DIMENSIONS,
        nodes=tuple(f"n{n:02}" for n in range(nodes)),
        open=np.ones(nodes, dtype=np.bool_),
        share=np.full(nodes, 100.0),
        sites=tuple(f"s{s:07}.example.org" for s in range(sites)),
        replicas=np.ones(sites, dtype=np.int64),
        load=np.full((sites, 2), load * 100 * nodes / max(sites, 1)),
        cold=np.ones(sites, dtype=np.int64),
        old=np.stack([every, every % nodes], axis=1),
        pinned={},
        tolerance=0.05,
    )


def with_load(load: Sequence[float]) -> Problem:
    return replace(
        equal_sites(len(load), 3), load=np.array([[asks, asks] for asks in load], dtype=np.float64)
    )


def from_tables(access: Sequence[float], *pins: Pin) -> Problem:
    """What a night makes a problem of; numbers that the tables take for none are theirs to
    refuse.
    """
    sites = [f"s{s}.example.org" for s in range(len(access))]
    profiles = pd.DataFrame({"site": pd.Series(sites, dtype="str"), "access_bytes": access})
    for column in ("working_set", "requests", "targets", "one_timers", "busy_hour_bytes"):
        profiles[column] = 1
    nodes = [Node(f"n{n}", (f"192.0.2.{n + 1}",), ram=2**30) for n in range(3)]
    made = PROFILES.make(profiles)
    return problems.build(
        made, SPREADS.empty(), nodes, pins, PLACEMENT.empty(), tolerance=0.05, replicate_above=0.6
    )


ANSWERED: dict[str, tuple[Callable[[], Problem], str]] = {
    "no sites": (lambda: equal_sites(0, 3), ""),
    "one node": (lambda: equal_sites(20, 1), ""),
    "all loads zero": (lambda: equal_sites(20, 3, load=0.0), ""),
    "a million equal sites": (lambda: equal_sites(1_000_000, 16), ""),
    "one site with everything": (
        lambda: with_load([0, 0, 300, 0]),
        "s0000002.example.org, 300% of a node",
    ),
    "fewer sites than nodes": (lambda: with_load([150, 150]), "n02 stays under its access rate"),
}
REFUSED: dict[str, tuple[Callable[[], Problem], str]] = {
    "a load that is no number": (
        lambda: with_load([100, float("nan")]),
        "s0000001.example.org: its access rate is nan",
    ),
    "an endless load": (
        lambda: with_load([100, float("inf")]),
        "s0000001.example.org: its access rate is inf",
    ),
    "a negative load": (
        lambda: with_load([100, -1]),
        "s0000001.example.org: its access rate is -1",
    ),
    "a profile that is no number": (
        lambda: from_tables([100, float("nan")]),
        "some values are missing",
    ),
    "a negative profile": (
        lambda: from_tables([100, -1]),
        "access_bytes has the negative value -1",
    ),
    "a wish for an unknown node": (
        lambda: from_tables([1, 2], Pin("s0.example.org", nodes=("n9",))),
        "n9",
    ),
    "a wish for an unknown site": (
        lambda: from_tables([1, 2], Pin("s9.example.org", nodes=("n1",))),
        "s9.example.org",
    ),
    "a wish that no placement can keep": (
        lambda: from_tables([1, 2], Pin("s1.example.org", min_replicas=4)),
        "4",
    ),
}


@pytest.mark.slow("fewer sites than nodes", "a million equal sites")
@pytest.mark.parametrize("name", ANSWERED)
def test_odd_input_has_a_stated_answer_after_few_steps(name: str) -> None:
    make, said = ANSWERED[name]
    problem, answers = make(), list[Solution]()
    assert calls(lambda: answers.append(SOLVERS["auto"](problem, BUDGET))) < FEW
    (solution,) = answers
    assert said in solution.note
    assert solution.proven == (not said)
    assert not [broken for broken in score.violations(problem, solution.rows) if broken.is_wish]


@pytest.mark.slow
def test_equal_sites_take_as_much_longer_as_there_are_more_of_them() -> None:
    problems = {sites: equal_sites(sites, 16) for sites in (1_000_000, 1_000_000 // TIMES)}
    assert grows_with(lambda sites: SOLVERS["auto"](problems[sites], BUDGET), 1_000_000)


@pytest.mark.parametrize("name", REFUSED)
def test_senseless_input_has_a_clear_error_after_few_steps(name: str) -> None:
    make, said = REFUSED[name]
    errors = list[FlexError]()

    def ask() -> None:
        with pytest.raises(FlexError) as refused:
            SOLVERS["auto"](make(), BUDGET)
        errors.append(refused.value)

    assert calls(ask) < FEW
    (error,) = errors
    assert said in str(error)
    assert error.kept
    assert error.advice


@pytest.mark.parametrize("solver", sorted(SOLVERS))
def test_no_solver_of_the_register_takes_a_load_that_is_no_number(solver: str) -> None:
    with pytest.raises(FlexError, match="is nan"):
        SOLVERS[solver](with_load([100, float("nan")]), BUDGET)

"""The bound that goes up beside the search: true at any moment, and whenever it comes the answer is
the same.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from threading import Event
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from flex.placing import score
from flex.placing.problem import Budget, Ints, Problem
from flex_solver import large
from flex_solver.bounds import proof_by_integer_program
from flex_solver.bounds.proof_by_integer_program import ProofVerdict
from flex_solver.bounds.rising_move_bound import RisingBound
from flex_solver.search import heavy_site_programs, solve_blocks_again
from tests.solver.given import fewest, wished
from tests.thorough import times

Drifted = Callable[[int, int, int], Problem]

# Steps end it, however slow the machine is.
BUDGET = Budget(steps=2_000, seconds=3600)
# Seconds until a thread that another one waits for has never come.
PATIENCE = 300
GO_UP, BEST_OF_SOME = RisingBound.go_up, large._best_of_some
SOLVE_AGAIN = solve_blocks_again._solve_again


def rising(problem: Problem) -> RisingBound:
    return RisingBound(problem, 0, BUDGET, time.monotonic() + BUDGET.seconds, with_highs=True)


@pytest.mark.slow
@settings(max_examples=times(60), deadline=None)
@given(data=st.data(), known=st.integers(0, 6))
def test_it_never_rises_above_the_fewest_moves(
    data: st.DataObject, known: int, tiny: st.SearchStrategy[Problem]
) -> None:
    problem = data.draw(wished(tiny))
    moves = fewest(problem)
    assume(moves is not None)
    assert moves is not None
    bound = rising(problem)
    bound.note_found(moves + known)
    bound.go_up()
    assert bound.least <= moves
    if bound.rows is not None:
        assert score.violations(problem, bound.rows) == ()
        assert score.moves(problem, bound.rows) == bound.least == moves


def test_nobody_waits_for_it_once_as_few_moves_are_found(
    drifted: Drifted, monkeypatch: pytest.MonkeyPatch
) -> None:
    def until_unwanted(*_: object, unwanted: Event) -> ProofVerdict:
        assert unwanted.wait(PATIENCE)
        return ProofVerdict(impossible=False)

    monkeypatch.setattr(proof_by_integer_program, "judge_so_few_moves", until_unwanted)
    bound = rising(drifted(60, 4, 1))
    with bound.go_up_in_background() as going_up:
        bound.note_found(0)
        going_up.result(timeout=PATIENCE)
    assert bound.is_met


@pytest.mark.parametrize("in_force", [0, 1])
def test_where_next_to_nothing_is_in_force_no_program_is_made_of_it(
    drifted: Drifted, in_force: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(proof_by_integer_program, "judge_so_few_moves", None)
    problem = drifted(2_000, 16, 1)
    bound = rising(replace(problem, old=problem.old[:in_force]))
    bound.go_up()
    assert bound.least == 0


class Order:
    """When the bound goes up, and when that is over, beside the search: no clock decides it."""

    def __init__(self, *, begins_late: bool, ends_late: bool) -> None:
        self.begins_late, self.ends_late = begins_late, ends_late
        self.known, self.searched = Event(), Event()

    def go_up(self, bound: RisingBound) -> None:
        if self.begins_late:
            assert self.searched.wait(PATIENCE), "the search never ended"
        GO_UP(bound)
        self.known.set()
        if self.ends_late:
            assert self.searched.wait(PATIENCE), "the search never ended"

    def search(self, *arguments: Any) -> Any:
        """Any: what it takes and gives back is its own business."""
        if not self.begins_late:
            assert self.known.wait(PATIENCE), "the bound never went up"
        return BEST_OF_SOME(*arguments)

    def solve_again(self, *arguments: Any) -> Any:
        """Any: as above."""
        try:
            return SOLVE_AGAIN(*arguments)
        finally:
            self.searched.set()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("size", "seed"),
    [
        ((200, 6), 1),
        *(pytest.param((400, 8), seed, marks=pytest.mark.torture) for seed in (1, 2, 5)),
    ],
)
def test_whether_it_comes_soon_or_late_the_answer_is_the_same(
    drifted: Drifted, size: tuple[int, int], seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Nothing is decided before the searches, as with many nodes.
    monkeypatch.setattr(heavy_site_programs, "FEW_NODES", 0)
    problem, answers = drifted(*size, seed), list[Ints]()
    for begins_late, ends_late in ((False, False), (True, True), (False, True)):
        order = Order(begins_late=begins_late, ends_late=ends_late)

        def go_up(bound: RisingBound, order: Order = order) -> None:
            order.go_up(bound)

        monkeypatch.setattr(RisingBound, "go_up", go_up)
        monkeypatch.setattr(large, "_best_of_some", order.search)
        monkeypatch.setattr(solve_blocks_again, "_solve_again", order.solve_again)
        answers.append(large.place(problem, BUDGET).rows)
    assert len({rows.tobytes() for rows in answers}) == 1

"""A bound that goes up while a search beside it looks for fewer moves.

Takes a Problem and a bound. Returns a larger bound, and rows with as many moves as it says where
proof_by_integer_program.py finds some. Does not search for partitions itself: it asks
move_forest.py first, then proof_by_integer_program.py. All of it takes seconds of one core, so it
runs beside the search that it is to end. The result does not depend on when it is asked, as long as
time is not up.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from threading import Event

from flex.placing.problem import Budget, Ints, Problem
from flex_solver.bounds import move_forest, proof_by_integer_program


class RisingBound:
    """`least` goes up until it is as many as the `moves` found, or nothing more is known; `rows`
    make do with it.

    Where `late`, time was up before that.
    """

    def __init__(
        self, problem: Problem, least: int, budget: Budget, until: float, *, with_highs: bool
    ) -> None:
        self.problem, self.until = problem, until
        self.moves = sys.maxsize
        self.late = False
        self._at_first = self._least = least
        self._rows: Ints | None = None
        self._is_small = budget.seconds > 0 and proof_by_integer_program.is_small(
            problem, budget.steps
        )
        self.with_highs = with_highs
        self._unwanted, self._given_up = Event(), False

    @property
    def least(self) -> int:
        """Where no partition is balanced any number can be ruled out: more than were found says
        nothing.
        """
        return (
            self._at_first if self._given_up else min(self._least, max(self._at_first, self.moves))
        )

    @property
    def has_time(self) -> bool:
        return self.has_time_for(0.0)

    def has_time_for(self, seconds: float) -> bool:
        return time.monotonic() + seconds < self.until

    @property
    def rows(self) -> Ints | None:
        return None if self._given_up else self._rows

    @property
    def is_met(self) -> bool:
        """Whether nobody can find fewer moves than were found."""
        return self.moves <= self.least

    def raise_to(self, least: int) -> None:
        """Somebody else has proven it."""
        self._least = max(self._least, least)
        if self.is_met:
            self.stop()

    def note_found(self, moves: int) -> None:
        self.moves = moves
        if self.is_met:
            self.stop()

    def give_up(self) -> None:
        """No balanced partition was found: the bound is what it was at first, however far it has
        come.
        """
        self._given_up = True
        self.stop()

    def stop(self) -> None:
        self._unwanted.set()

    @contextmanager
    def go_up_in_background(self) -> Iterator[Future[None]]:
        """It goes up while this is open: nobody wants to know more afterwards."""
        with ThreadPoolExecutor(1) as pool:
            try:
                yield pool.submit(self.go_up)
            finally:
                self.stop()

    def go_up(self) -> None:
        """One by one, as more moves are harder to rule out than fewer."""
        if not self._is_small:
            return
        if move_forest.is_small(self.problem):
            self._least = max(self._least, move_forest.least(self.problem, self._unwanted))
        while self.with_highs and not self._unwanted.is_set() and self._least < self.moves:
            seconds = self.until - time.monotonic()
            verdict = proof_by_integer_program.judge_so_few_moves(
                self.problem, self._least, seconds, unwanted=self._unwanted
            )
            if not verdict.impossible:
                self._rows = verdict.rows
                self.late |= not self.has_time
                return
            self._least += 1

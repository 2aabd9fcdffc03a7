"""CP-SAT, where it is installed, comes to the same numbers of moves as the integer program."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flex.placing import score
from flex.placing.problem import Budget, MoveLimits, Problem
from flex_solver.rivals import cpsat
from tests.thorough import times

# Also after the process that it had was killed. There is no guard against the file being loaded
# again.
PROGRAM = """
import highspy, operator, os, signal
from flex_solver.programs.library_process import OwnProcess

process = OwnProcess("ortools.sat.python.cp_model")
print(process.ask(operator.add, 3, 4))
os.kill(process.ask(os.getpid), signal.SIGKILL)
print(process.ask(operator.add, 3, 4))
"""

pytestmark = pytest.mark.skipif(not cpsat.HAVE_CPSAT, reason="OR-tools is not installed")


@pytest.mark.slow
@settings(max_examples=times(30))
@given(data=st.data())
def test_it_finds_the_fewest_moves_of_all(
    data: st.DataObject,
    tiny: st.SearchStrategy[Problem],
    best_of_all: Callable[[Problem], tuple[float, int, int]],
) -> None:
    problem = data.draw(tiny)
    rows = cpsat.place(problem, Budget()).rows
    outside, moves, _ = best_of_all(problem)
    if not outside:
        # Loads are rounded away from the edge of the band, which a placement may stand right on.
        assert score.moves(problem, rows) == moves or _on_the_edge(problem)


def _on_the_edge(problem: Problem) -> bool:
    looser, tighter = (
        replace(problem, tolerance=problem.tolerance * factor) for factor in (1 + 1e-4, 1 - 1e-4)
    )
    return score.moves(problem, cpsat.place(looser, Budget()).rows) != score.moves(
        problem, cpsat.place(tighter, Budget()).rows
    )


@pytest.mark.slow
def test_a_program_that_has_loaded_highs_can_ask_it(tmp_path: Path) -> None:
    program = tmp_path / "integer_program.py"
    program.write_text(PROGRAM)
    run = subprocess.run(
        [sys.executable, program], capture_output=True, text=True, check=True, timeout=300
    )
    assert run.stdout.split() == ["7", "7"]


def test_it_keeps_sites_apart_and_off_barred_nodes(
    drifted: Callable[[int, int, int], Problem],
) -> None:
    problem = drifted(40, 4, 2)
    wished = replace(problem, barred={0: frozenset({0, 1})}, apart=(frozenset({0, 1, 2}),))
    assert not score.violations(wished, cpsat.place(wished, Budget()).rows)


def test_it_stays_within_the_limits(drifted: Callable[[int, int, int], Problem]) -> None:
    problem = drifted(40, 4, 2)
    free = cpsat.place(problem, Budget()).rows
    limits = MoveLimits(
        moves=max(0, score.moves(problem, free) - 1), inflow=int(np.median(problem.cold))
    )
    limited = replace(problem, limits=limits)
    broken = score.violations(limited, cpsat.place(limited, Budget()).rows)
    assert {violation.kind for violation in broken} <= {"over", "under"}

"""What every solver of the register makes of random wishes, as the judge sees it."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from flex import native_or_python
from flex.frame_schemas import PLACEMENT, PROFILES, SPREADS
from flex.model.nodes import Node
from flex.model.wish import Pin
from flex.placing import problem as problems
from flex.placing import score
from flex.placing.problem import DIMENSIONS, Budget, Ints, MoveLimits, Problem, sort_by_site
from flex_solver import SOLVERS
from flex_solver.exact import fewest_moves
from tests.shrinking import shrunk_within
from tests.thorough import examples, times

# Steps end it, however slow the machine is.
BRIEF = Budget(steps=2_000, seconds=600.0)
# Trying all ways for thirty sites takes the Python loops minutes.
SHUFFLED = 30 if native_or_python.name() == "native" else 14
NODES = 4


@st.composite
def wishful(draw: st.DrawFn) -> Problem:
    """Four nodes and up to ten sites with one replica, of which each has at most one wish: all can
    be kept.
    """
    count = draw(st.integers(4, 10))
    every = range(NODES)
    old = [(site, draw(st.sampled_from(every))) for site in range(count) if draw(st.booleans())]
    demand = np.array(
        [draw(st.tuples(st.integers(0, 9), st.integers(0, 9))) for _ in range(count)],
        dtype=np.float64,
    )
    total = demand.sum(axis=0)
    return Problem(
        dimensions=DIMENSIONS,
        nodes=tuple(f"n{n}" for n in every),
        open=np.ones(NODES, dtype=np.bool_),
        share=np.full(NODES, 100.0),
        sites=tuple(f"s{s}" for s in range(count)),
        replicas=np.ones(count, dtype=np.int64),
        load=np.divide(demand * 100 * NODES, total, out=np.zeros_like(demand), where=total > 0),
        cold=np.array(
            draw(st.lists(st.integers(0, 99), min_size=count, max_size=count)), dtype=np.int64
        ),
        old=sort_by_site(np.array(old, dtype=np.int64).reshape(-1, 2)),
        pinned={},
        tolerance=draw(st.sampled_from([0.1, 0.5, 0.9])),
        barred={0: frozenset(draw(st.sets(st.sampled_from(every), min_size=1, max_size=3)))},
        apart=draw(st.sampled_from([(), (frozenset({1, 2}),), (frozenset({1, 2, 3}),)])),
        together=draw(st.sampled_from([(), (frozenset(range(4, count)),)])) if count > 5 else (),
    )


def merit(problem: Problem, rows: Ints) -> tuple[bool, int]:
    """Whether it is a best effort, and how many moves it makes."""
    return bool(score.violations(problem, rows)), score.moves(problem, rows)


@pytest.mark.slow("large", "exact", "auto")
@pytest.mark.parametrize("solver", sorted(SOLVERS))
@examples(20)
@given(problem=wishful())
def test_random_wishes_are_kept(solver: str, problem: Problem) -> None:
    rows = SOLVERS[solver](problem, BRIEF).rows
    assert not [broken for broken in score.violations(problem, rows) if broken.is_wish]


@pytest.mark.torture("exact")
@pytest.mark.slow
@pytest.mark.parametrize("solver", ["auto", "exact"])
@examples(20)
@given(problem=wishful())
@shrunk_within(20)
def test_no_other_solver_moves_less_in_balance(solver: str, problem: Problem) -> None:
    found = merit(problem, SOLVERS[solver](problem, BRIEF).rows)
    others = {
        name: merit(problem, SOLVERS[name](problem, BRIEF).rows)
        for name in SOLVERS
        if name != "cpsat"
    }
    assert all(found <= other for other in others.values() if not other[0]), others


@pytest.mark.slow
@examples(20)
@given(problem=wishful(), moves=st.integers(0, 6))
def test_limits_hold_where_any_placement_holds_them(problem: Problem, moves: int) -> None:
    free = SOLVERS["exact"](problem, BRIEF)
    limited = SOLVERS["exact"](replace(problem, limits=MoveLimits(moves=moves)), BRIEF)
    broken = [
        one.kind
        for one in score.violations(replace(problem, limits=MoveLimits(moves=moves)), limited.rows)
    ]
    if score.moves(problem, free.rows) <= moves:
        assert "moves" not in broken
    if "moves" in broken:
        assert (
            not score.violations(replace(problem, together=problem.together), limited.rows)
            or limited.shortfalls
        )
        assert "moves" in {short.kind for short in limited.shortfalls}


def test_a_best_effort_within_limits_says_how_many_moves_would_do() -> None:
    load = np.array([[100.0, 100.0]] * 4)
    problem = replace(_even(load), limits=MoveLimits(moves=1))
    found = fewest_moves.place(problem, BRIEF)
    assert score.moves(problem, found.rows) <= 1
    assert [
        (one.rule, one.enough, one.least)
        for one in found.shortfalls[-1].instead
        if one.rule == "moves"
    ] == [("moves", 3.0, True)]


def test_a_best_effort_names_the_pins_that_cause_it_and_how_many_less_would_do() -> None:
    problem = replace(
        _even(np.array([[100.0, 100.0]] * 4)), pinned={0: frozenset({0}), 1: frozenset({0})}
    )
    short = fewest_moves.place(problem, BRIEF).shortfalls[-1]
    assert (short.kind, short.because) == ("over", ("the pin of s0 to n0", "the pin of s1 to n0"))
    assert ("pins taken back", 1.0, True) in [
        (one.rule, one.enough, one.least) for one in short.instead
    ]


def test_more_sites_apart_than_nodes_is_a_best_effort_that_says_so() -> None:
    problem = replace(_even(np.array([[80.0, 80.0]] * 5)), apart=(frozenset(range(5)),))
    found = fewest_moves.place(problem, BRIEF)
    assert ("apart", 5.0) in [(short.kind, short.instead[0].enough) for short in found.shortfalls]
    assert found.note.startswith("best effort: ")


def _even(load: np.ndarray) -> Problem:
    count = len(load)
    return Problem(
        dimensions=DIMENSIONS,
        nodes=tuple(f"n{n}" for n in range(NODES)),
        open=np.ones(NODES, dtype=np.bool_),
        share=np.full(NODES, 100.0),
        sites=tuple(f"s{s}" for s in range(count)),
        replicas=np.ones(count, dtype=np.int64),
        load=load,
        cold=np.full(count, 10, dtype=np.int64),
        old=sort_by_site(np.array([(site, 0) for site in range(count)], dtype=np.int64)),
        pinned={},
        tolerance=0.1,
    )


@pytest.mark.slow("auto")
@pytest.mark.parametrize("solver", ["auto", "greedy"])
def test_shuffles_have_one_answer(solver: str) -> None:
    answers = {
        SOLVERS[solver](_shuffled(Random(seed)), BRIEF).rows.tobytes() for seed in range(times(10))
    }
    assert len(answers) == 1, native_or_python.name()


def _shuffled(random: Random) -> Problem:
    """Sites on four nodes, as tables whose rows are in any order."""
    names = [f"s{s}.example.org" for s in range(SHUFFLED)]
    sites = random.sample(
        [(name, 10 + s * s % 17, 10 + s * s % 23) for s, name in enumerate(names)], len(names)
    )
    placement = random.sample([(name, f"n{s * s % 3}") for s, name in enumerate(names)], len(names))
    profiles = pd.DataFrame(sites, columns=["site", "access_bytes", "working_set"])
    return problems.build(
        profiles.assign(
            requests=1,
            targets=1,
            one_timers=0,
            busy_hour_bytes=1,
            **dict.fromkeys(PROFILES.later, 0),
        ).astype(dict(PROFILES.columns)),
        SPREADS.empty(),
        random.sample(
            [Node(f"n{n}", (f"192.0.2.{n + 1}",), ram=2**30) for n in range(NODES)], NODES
        ),
        random.sample(
            [
                Pin("s3.example.org", nodes=("n2",)),
                Pin("s5.example.org", apart=("s6.example.org",)),
            ],
            2,
        ),
        pd.DataFrame(placement, columns=["site", "node"]).astype(dict(PLACEMENT.columns)),
        tolerance=0.1,
        replicate_above=0.6,
    )


@pytest.mark.slow
def test_many_equal_sites_on_one_node_are_shared_out() -> None:
    crowded = _even(np.full((4_000, 2), 0.1))
    assert not score.violations(crowded, SOLVERS["auto"](crowded, BRIEF).rows)

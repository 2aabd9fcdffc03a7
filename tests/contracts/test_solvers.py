"""What every solver of the register promises, whatever the cluster looks like."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from random import Random

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from flex.frame_schemas import PLACEMENT, PROFILES, SPREADS
from flex.model.nodes import Node
from flex.model.wish import Pin
from flex.placing import problem as problems
from flex.placing import score
from flex.placing.problem import DIMENSIONS, Budget, Floats, Ints, Problem, sort_by_site
from flex.ports import Solver
from flex_solver import SOLVERS
from flex_solver.rows_to_solution import worst
from tests.thorough import examples

# Steps end it, however slow the machine is.
BRIEF = Budget(steps=2_000, seconds=600.0)
every_solver = pytest.mark.parametrize("solver", SOLVERS.values(), ids=list(SOLVERS))
# Those that look at the placement in force, and are to leave it alone where they can.
SPARING = ("auto", "exact", "local")
every_sparing_solver = pytest.mark.parametrize(
    "solver", [SOLVERS[name] for name in SPARING], ids=list(SPARING)
)


@st.composite
def clusters(draw: st.DrawFn) -> Problem:
    """Up to five nodes, some closed, some larger; up to twelve sites, some silent, replicated,
    pinned or new.
    """
    node_count, site_count = draw(st.integers(1, 5)), draw(st.integers(0, 12))
    is_open = np.array(draw(_list_of(st.sampled_from([True, True, True, False]), node_count)))
    is_open[draw(st.integers(0, node_count - 1))] = True
    open_nodes = np.flatnonzero(is_open).tolist()
    replicas = np.array(
        draw(_list_of(st.integers(1, len(open_nodes)) | st.just(1), site_count)), dtype=np.int64
    )
    pinned = {}
    for site in range(site_count):
        nodes = draw(
            st.just([])
            | st.lists(st.sampled_from(open_nodes), unique=True, max_size=int(replicas[site]))
        )
        if nodes:
            pinned[site] = frozenset(nodes)
    held = [
        draw(st.lists(st.integers(0, node_count - 1), unique=True, max_size=2))
        for _ in range(site_count)
    ]
    return Problem(
        dimensions=DIMENSIONS,
        nodes=tuple(f"n{n}" for n in range(node_count)),
        open=is_open,
        share=_shares(np.array(draw(_list_of(st.sampled_from([1.0, 2.0]), node_count))), is_open),
        sites=tuple(f"s{s:02}.example.org" for s in range(site_count)),
        replicas=replicas,
        load=_loads(draw, replicas, len(open_nodes)),
        cold=np.array(draw(_list_of(st.integers(0, 2**40), site_count)), dtype=np.int64),
        old=_rows([(site, node) for site, nodes in enumerate(held) for node in nodes]),
        pinned=pinned,
        tolerance=draw(st.sampled_from([0.02, 0.1, 0.3, 0.9])),
    )


def _list_of(values: st.SearchStrategy[object], size: int) -> st.SearchStrategy[list[object]]:
    return st.lists(values, min_size=size, max_size=size)


def _shares(capacity: Floats, is_open: problems.Bools) -> Floats:
    capacity = np.where(is_open, capacity, 0.0)
    shares: Floats = capacity * is_open.sum() / capacity.sum() * 100
    return shares


def _loads(draw: st.DrawFn, replicas: Ints, open_nodes: int) -> Floats:
    asked = st.tuples(st.integers(0, 9), st.integers(0, 9))
    demand = np.array(draw(_list_of(asked, len(replicas))), dtype=np.float64).reshape(-1, 2)
    total = (demand * replicas[:, None]).sum(axis=0)
    loads: Floats = np.divide(
        demand * 100 * open_nodes, total, out=np.zeros_like(demand), where=total > 0
    )
    return loads


def _rows(pairs: list[tuple[int, int]]) -> Ints:
    return sort_by_site(np.array(pairs, dtype=np.int64).reshape(-1, 2))


def equal_sites(sites: int, nodes: int, *, load: float = 1.0) -> Problem:
    """All sites alike and all on the first node."""
    every = np.full((sites, 2), load * 100 * nodes / max(sites, 1))
    return Problem(
        dimensions=DIMENSIONS,
        nodes=tuple(f"n{n}" for n in range(nodes)),
        open=np.ones(nodes, dtype=np.bool_),
        share=np.full(nodes, 100.0),
        sites=tuple(f"s{s:03}.example.org" for s in range(sites)),
        replicas=np.ones(sites, dtype=np.int64),
        load=every,
        cold=np.full(sites, 1000, dtype=np.int64),
        old=_rows([(site, 0) for site in range(sites)]),
        pinned={},
        tolerance=0.05,
    )


def one_takes_all() -> Problem:
    even = equal_sites(6, 3)
    load = np.zeros((6, 2))
    load[2] = 300.0
    return replace(even, load=load)


@pytest.mark.slow("cpsat", "exact", "large")
@every_solver
@examples(20)
@given(problem=clusters())
def test_every_wish_is_kept(solver: Solver, problem: Problem) -> None:
    rows = solver(problem, BRIEF).rows
    assert not [broken for broken in score.violations(problem, rows) if broken.is_wish]


@pytest.mark.slow("auto", "large")
@every_solver
@examples(20)
@given(problem=clusters(), data=st.data())
def test_a_site_that_must_stay_where_it_is_stays_there_and_nowhere_else(
    solver: Solver, problem: Problem, data: st.DataObject
) -> None:
    rows = problem.old.tolist()
    held = {site: frozenset(node for s, node in rows if s == site) for site, _ in rows}
    able = sorted(site for site, nodes in held.items() if problem.open[list(nodes)].all())
    fixed = data.draw(st.sets(st.sampled_from(able)) if able else st.just(set()))
    replicas = problem.replicas.copy()
    for site in fixed:
        replicas[site] = len(held[site])
    asked = replace(
        problem,
        replicas=replicas,
        pinned={**problem.pinned, **{site: held[site] for site in fixed}},
    )
    found = solver(asked, BRIEF)
    assert all(
        frozenset(found.rows[found.rows[:, 0] == site, 1].tolist()) == held[site] for site in fixed
    )
    assert not fixed & set(score.new_rows(asked, found.rows)[:, 0].tolist())


@pytest.mark.slow("large", "exact", "auto")
@every_solver
@examples(20)
@given(problem=clusters(), data=st.data())
def test_sites_that_belong_together_stay_together(
    solver: Solver, problem: Problem, data: st.DataObject
) -> None:
    free = sorted(set(range(len(problem.sites))) - set(problem.pinned))
    group = frozenset(
        data.draw(st.sets(st.sampled_from(free), min_size=2)) if len(free) > 1 else ()
    )
    replicas = problem.replicas.copy()
    replicas[list(group)] = replicas[list(group)].min(initial=len(problem.nodes))
    asked = replace(problem, replicas=replicas, together=(group,) if group else ())
    rows = solver(asked, BRIEF).rows
    assert not [broken for broken in score.violations(asked, rows) if broken.is_wish]


@pytest.mark.slow("auto", "large", "exact")
@every_solver
@examples(20)
@given(problem=clusters())
def test_rows_come_in_order_and_the_same_each_time(solver: Solver, problem: Problem) -> None:
    first, again = solver(problem, BRIEF), solver(problem, BRIEF)
    assert first.rows.dtype == np.int64
    assert first.rows.tolist() == sorted(first.rows.tolist())
    assert first.rows.tolist() == again.rows.tolist()
    assert (first.bound, first.proven, first.note) == (again.bound, again.proven, again.note)


@pytest.mark.slow("auto", "large")
@every_solver
@examples(20)
@given(problem=clusters())
def test_proven_means_balanced_with_as_many_moves_as_the_bound(
    solver: Solver, problem: Problem
) -> None:
    solution = solver(problem, BRIEF)
    moves, broken = (score.moves(problem, solution.rows), score.violations(problem, solution.rows))
    assert solution.proven == (not broken and moves == solution.bound)
    assert bool(broken) == solution.note.startswith("best effort: ")


@pytest.mark.slow("auto", "large", "exact")
@every_solver
@examples(20)
@given(problem=clusters())
def test_the_note_names_a_tolerance_that_would_do(solver: Solver, problem: Problem) -> None:
    solution = solver(problem, BRIEF)
    if "a tolerance of" in solution.note:
        enough = float(solution.note.split("a tolerance of ")[1].split(" would do")[0])
        assert problem.tolerance < enough
        assert enough - 0.001 <= worst(problem, solution.rows) <= enough + score.ROUNDING


@every_sparing_solver
@examples(20)
@given(problem=clusters())
def test_a_balanced_placement_that_keeps_every_wish_stays(solver: Solver, problem: Problem) -> None:
    in_force = replace(problem, old=SOLVERS["scratch"](problem, BRIEF).rows)
    if not score.violations(in_force, in_force.old):
        assert solver(in_force, BRIEF).rows.tolist() == in_force.old.tolist()


@every_sparing_solver
@examples(20)
@given(problem=clusters())
def test_a_silent_site_moves_only_where_a_wish_demands_it(solver: Solver, problem: Problem) -> None:
    silent = ~problem.load.any(axis=1)
    moved = score.new_rows(problem, solver(problem, BRIEF).rows)
    assert all(
        _demanded(problem, site) == np.count_nonzero(moved[:, 0] == site)
        for site in np.flatnonzero(silent).tolist()
    )


def _demanded(problem: Problem, site: int) -> int:
    """The new rows that a site's count and pins ask for."""
    held = {node for s, node in problem.old.tolist() if s == site and problem.open[node]}
    missing_pins = problem.pinned.get(site, frozenset()) - held
    return max(int(problem.replicas[site]) - len(held), len(missing_pins))


@pytest.mark.torture("many equal sites-exact", "many equal sites-auto")
@pytest.mark.slow("many equal sites-exact", "many equal sites-auto")
@every_solver
@pytest.mark.parametrize(
    "problem",
    [
        pytest.param(equal_sites(0, 3), id="no sites"),
        pytest.param(equal_sites(20, 1), id="one node"),
        pytest.param(equal_sites(20, 3, load=0.0), id="no load"),
        pytest.param(one_takes_all(), id="one site with everything"),
        pytest.param(equal_sites(2, 5), id="more nodes than sites"),
        pytest.param(equal_sites(40, 4), id="many equal sites"),
    ],
)
def test_odd_clusters_get_an_answer(solver: Solver, problem: Problem) -> None:
    rows = solver(problem, BRIEF).rows
    assert not [broken for broken in score.violations(problem, rows) if broken.is_wish]


@pytest.mark.slow("closest", "large", "exact", "auto")
@every_solver
@examples(20)
@given(random=st.randoms(use_true_random=False))
def test_the_order_of_the_input_does_not_matter(solver: Solver, random: Random) -> None:
    sites = [f"s{s:02}.example.org" for s in range(12)]
    nodes = [Node(f"n{n}", (f"192.0.2.{n + 1}",), ram=2**30) for n in range(4)]
    pins = [Pin("s03.example.org", nodes=("n2",)), Pin("s05.example.org", min_replicas=2)]
    placement = [(site, f"n{s % 3}") for s, site in enumerate(sites)]
    straight = _placed(solver, sites, nodes, pins, placement)
    for shuffled in (sites, nodes, pins, placement):
        random.shuffle(shuffled)
    assert _placed(solver, sites, nodes, pins, placement) == straight


def _placed(
    solver: Solver,
    sites: list[str],
    nodes: list[Node],
    pins: list[Pin],
    placement: list[tuple[str, str]],
) -> list[list[int]]:
    profiles = pd.DataFrame({"site": pd.Series(sites, dtype="str")})
    for factor, column in enumerate(("access_bytes", "working_set"), start=1):
        profiles[column] = [1000 + factor * int(site[1:3]) ** 2 for site in sites]
    for column in ("requests", "targets", "one_timers", "busy_hour_bytes"):
        profiles[column] = 1
    in_force = pd.DataFrame(placement, columns=["site", "node"], dtype="str")
    asked = problems.build(
        profiles.assign(**dict.fromkeys(PROFILES.later, 0)).astype(dict(PROFILES.columns)),
        SPREADS.empty(),
        nodes,
        pins,
        in_force.astype(dict(PLACEMENT.columns)),
        tolerance=0.3,
        replicate_above=0.6,
    )
    rows: list[list[int]] = solver(asked, BRIEF).rows.tolist()
    return rows


@every_solver
def test_solvers_are_quiet_and_leave_nothing_behind(
    solver: Solver,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    solver(equal_sites(12, 3), BRIEF)
    assert capfd.readouterr() == ("", "")
    assert not list(tmp_path.iterdir())

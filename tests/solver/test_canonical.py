"""One answer for one input: whatever the order of rows, the number of threads, the engine, and
which twin is which.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from hashlib import sha256
from random import Random

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flex import native_or_python
from flex.frame_schemas import PLACEMENT, PROFILES, SPREADS
from flex.model.nodes import Node
from flex.model.wish import Pin
from flex.placing import problem as problems
from flex.placing import score
from flex.placing.problem import Budget, Ints, Problem, sort_by_site
from flex_solver import large
from flex_solver.symmetry.canonical_among_twins import told_apart
from flex_solver.symmetry.site_kinds import counts_of, kinds
from tests.thorough import times

SITES = 120
NODES = 5
# Few enough steps for the Python loops, which do each of them as well.
BRIEF = Budget(steps=400, seconds=300)

WITHOUT_NATIVE = """
import sys
sys.modules["flex_native"] = None
from flex import native_or_python
from tests.solver.test_canonical import digest
print(native_or_python.name(), *(digest(shuffled=7, threads=threads) for threads in (1, 2)))
"""


def digest(*, shuffled: int, threads: int) -> str:
    """What the large search makes of tables in some order, where many sites are twins."""
    random = Random(shuffled)
    sites, nodes = (
        list(range(SITES)),
        [Node(f"n{n}", (f"192.0.2.{n + 1}",), ram=2**30) for n in range(NODES)],
    )
    placement = [(s, s * s % 7 % NODES) for s in range(SITES)]
    pins = [
        Pin(_name(3), nodes=("n2",)),
        Pin(_name(5), min_replicas=2),
        Pin(_name(6), not_on=("n0",)),
    ]
    for table in (sites, nodes, placement, pins):
        random.shuffle(table)
    found = large.place(_problem(sites, nodes, placement, pins), BRIEF, threads=threads)
    assert "out of time" not in found.note
    return sha256(found.rows.tobytes() + found.note.encode()).hexdigest()


def _name(site: int) -> str:
    return f"s{site:03}.example.org"


def _problem(
    sites: list[int], nodes: list[Node], placement: list[tuple[int, int]], pins: list[Pin]
) -> Problem:
    profiles = pd.DataFrame({"site": pd.Series([_name(s) for s in sites], dtype="str")})
    for factor, column in enumerate(("access_bytes", "working_set"), start=1):
        profiles[column] = [100 + factor * (s // 8) ** 2 for s in sites]
    for column in ("requests", "targets", "one_timers", "busy_hour_bytes"):
        profiles[column] = 1
    in_force = pd.DataFrame(
        [(_name(s), f"n{n}") for s, n in placement], columns=["site", "node"], dtype="str"
    )
    return problems.build(
        profiles.assign(**dict.fromkeys(PROFILES.later, 0)).astype(dict(PROFILES.columns)),
        SPREADS.empty(),
        nodes,
        pins,
        in_force.astype(dict(PLACEMENT.columns)),
        tolerance=0.05,
        replicate_above=0.6,
    )


def test_shuffles_on_one_and_two_threads_with_and_without_the_native_loops_have_one_digest() -> (
    None
):
    digests = {digest(shuffled=n, threads=1 + n % 2) for n in range(times(10))}
    run = [sys.executable, "-c", WITHOUT_NATIVE]
    engine, *others = subprocess.run(
        run, capture_output=True, text=True, check=True, timeout=300
    ).stdout.split()
    assert engine == "python"
    assert len(others) == 2
    assert len({*digests, *others}) == 1
    # Or Python was compared with itself.
    if native_or_python.NATIVE is None:
        pytest.skip(native_or_python.WHY_NOT)


@settings(max_examples=times(60))
@given(data=st.data())
def test_which_of_some_twins_a_search_moved_makes_no_difference(
    data: st.DataObject, tiny: st.SearchStrategy[Problem]
) -> None:
    problem = _with_twins(data.draw(tiny))
    random = Random(data.draw(st.integers(0, 99)))
    rows = _rows_of_someone(problem, random)
    exchanged = _exchanged(problem, rows, random)
    assert told_apart(problem, rows).tolist() == told_apart(problem, exchanged).tolist()


@settings(max_examples=times(60))
@given(data=st.data())
def test_telling_twins_apart_costs_nothing(
    data: st.DataObject, tiny: st.SearchStrategy[Problem]
) -> None:
    problem = _with_twins(data.draw(tiny))
    rows = _rows_of_someone(problem, Random(data.draw(st.integers(0, 99))))
    again = told_apart(problem, rows)
    for measure in (score.moves, score.cold_bytes):
        assert measure(problem, again) == measure(problem, rows)
    assert np.allclose(score.loads(problem, again), score.loads(problem, rows))
    assert _wishes(problem, again) == _wishes(problem, rows)


def _with_twins(problem: Problem) -> Problem:
    """Every other site asks for, and is where, the one before it is."""
    first = np.arange(len(problem.sites)) // 2 * 2
    held = [
        (s, n)
        for s, f in enumerate(first.tolist())
        for n in problem.old[problem.old[:, 0] == f, 1].tolist()
    ]
    return replace(
        problem,
        load=problem.load[first],
        cold=problem.cold[first],
        replicas=problem.replicas[first],
        old=sort_by_site(np.array(held, dtype=np.int64).reshape(-1, 2)),
        pinned={s: problem.pinned[f] for s, f in enumerate(first.tolist()) if f in problem.pinned},
    )


def _rows_of_someone(problem: Problem, random: Random) -> Ints:
    """Any rows with as many replicas as wanted, the pins among them."""
    opened: list[int] = np.flatnonzero(problem.open).tolist()
    rows = []
    for site, count in enumerate(problem.replicas.tolist()):
        pins = sorted(problem.pinned.get(site, frozenset()))
        others = [node for node in opened if node not in pins]
        rows += [(site, node) for node in (*pins, *random.sample(others, count - len(pins)))]
    return sort_by_site(np.array(rows, dtype=np.int64).reshape(-1, 2))


def _exchanged(problem: Problem, rows: Ints, random: Random) -> Ints:
    """The same with the sites of each kind in another order."""
    becomes = np.arange(len(problem.sites))
    for kind in kinds(problem, becomes.tolist()):
        becomes[list(kind.sites)] = random.sample(kind.sites, len(kind.sites))
    exchanged = np.stack([becomes[rows[:, 0]], rows[:, 1]], axis=1)
    assert counts_of(kinds(problem, becomes.tolist()), exchanged) == counts_of(
        kinds(problem, becomes.tolist()), rows
    )
    return sort_by_site(exchanged)


def _wishes(problem: Problem, rows: Ints) -> list[score.Violation]:
    return [broken for broken in score.violations(problem, rows) if broken.is_wish]


def test_of_twins_on_one_node_the_first_stay(cluster: Callable[..., Problem]) -> None:
    problem = cluster(dict.fromkeys("abc", (50.0, 50.0)), {site: ["n0"] for site in "abc"})
    assert told_apart(problem, np.array([[0, 1], [1, 0], [2, 0]])).tolist() == [
        [0, 0],
        [1, 0],
        [2, 1],
    ]

"""Each move says why, in numbers."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flex.model.wish import Pin
from flex.placing import explain, score
from flex.placing.explain import Because
from flex.placing.problem import MoveLimits, Problem
from flex_solver import from_scratch
from tests.thorough import times
from tests.unhurried import unhurried

Cluster = Callable[..., Problem]


def why(problem: Problem, rows: list[tuple[int, int]]) -> list[tuple[int | None, str]]:
    return [
        (reason.source, reason.text)
        for reason in explain.reasons(problem, np.array(rows, dtype=np.int64))
    ]


def test_a_node_over_its_share_gives_a_site_away(cluster: Cluster) -> None:
    problem = cluster(
        {"a": (100, 118), "b": (0, 41), "c": (100, 41)}, {"a": ["n0"], "b": ["n0"], "c": ["n1"]}
    )
    assert why(problem, [(0, 0), (1, 1), (2, 1)]) == [(0, "n0 over working set by 59 %")]


def test_a_node_under_its_share_is_given_one(cluster: Cluster) -> None:
    problem = cluster(
        {"a": (100, 90), "b": (8, 8), "c": (72, 92)}, {"a": ["n0"], "b": ["n0"], "c": ["n1"]}
    )
    assert why(problem, [(0, 0), (1, 1), (2, 1)]) == [(0, "n1 under access rate by 28 %")]


def test_an_exchange_says_so(cluster: Cluster) -> None:
    problem = cluster({"a": (100, 100), "b": (100, 100)}, {"a": ["n0"], "b": ["n1"]})
    assert why(problem, [(0, 1), (1, 0)])[0] == (
        0,
        "makes up for other moves of n0 and n1; left there, n0 would be 100 % over",
    )


def test_wishes_are_named_before_loads(cluster: Cluster) -> None:
    problem = cluster(
        {"a": (10, 10), "b": (60, 140), "c": (10, 10), "d": (10, 10)},
        {"a": ["n0"], "b": ["n0"], "c": ["n2"]},
        nodes=3,
        closed=["n2"],
        replicas={"b": 2},
        pins={"a": ["n1"]},
    )
    assert why(problem, [(0, 1), (1, 0), (1, 1), (2, 1), (3, 0)]) == [
        (0, "pinned to n1"),
        (None, "one more replica; on 2 nodes, as its working set is that of 2.8 nodes"),
        (2, "n2 is given no sites now"),
        (None, "new"),
    ]


def test_a_site_leaves_the_node_that_is_out_of_service_first(cluster: Cluster) -> None:
    problem = cluster(
        {"a": (50, 50)}, {"a": ["n0", "n3"]}, nodes=4, closed=["n3"], replicas={"a": 2}
    )
    assert why(problem, [(0, 1), (0, 2)])[0] == (3, "n3 is given no sites now")


@pytest.mark.slow
@settings(max_examples=times(60))
@given(data=st.data())
def test_every_new_row_and_every_row_given_up_has_one_reason(
    data: st.DataObject, tiny: st.SearchStrategy[Problem]
) -> None:
    problem = data.draw(tiny)
    rows = from_scratch.place(problem, unhurried()).rows
    found = explain.reasons(problem, rows)
    new = [[reason.site, reason.target] for reason in found if reason.target is not None]
    assert new == score.new_rows(problem, rows).tolist()
    sources = [(reason.site, reason.source) for reason in found if reason.source is not None]
    assert len(set(sources)) == len(sources)
    assert {(s, n) for s, n in score.rows_given_up(problem, rows).tolist()} == set(sources)


def test_nothing_moved_needs_no_reason(cluster: Cluster) -> None:
    problem = cluster({"a": (100, 100), "b": (100, 100)}, {"a": ["n0"], "b": ["n1"]})
    assert explain.reasons(problem, problem.old) == pytest.approx([])


def test_a_wish_is_named_with_its_end_and_a_closed_node_with_its_state(cluster: Cluster) -> None:
    problem = cluster(
        {"a": (10, 10), "b": (10, 10), "c": (10, 10), "d": (10, 10)},
        {"a": ["n0"], "b": ["n0"], "c": ["n2"], "d": ["n3"]},
        nodes=4,
        closed=["n2", "n3"],
        replicas={"b": 2},
        pins={"a": ["n1"]},
    )
    rows = np.array([(0, 1), (1, 0), (1, 1), (2, 1), (3, 0)], dtype=np.int64)
    until = datetime(2026, 12, 1, 6, tzinfo=UTC)
    because = Because(
        {"a": Pin("a", ("n1",), until=until), "b": Pin("b", min_replicas=2)},
        {"n2": "draining", "n3": "down"},
    )
    assert [reason.text for reason in explain.reasons(problem, rows, because)] == [
        "pinned to n1 until 1 December 2026, 06:00 UTC",
        "one more replica; on 2 nodes, as wished",
        "n2 is drained",
        "n3 is down",
    ]


def test_a_replica_given_up_names_the_node_that_it_had_to_leave_and_why_no_other_takes_it(
    cluster: Cluster,
) -> None:
    problem = cluster(
        {"a": (10, 10), "b": (10, 10), "c": (10, 10)},
        {"a": ["n0", "n2"], "b": ["n0", "n1"], "c": ["n0", "n1"]},
        nodes=3,
        closed=["n2"],
    )
    problem = replace(problem, barred={1: frozenset({1})})
    rows = np.array([(0, 0), (1, 0), (2, 0)], dtype=np.int64)
    because = Because(states={"n2": "down"})
    assert [reason.text for reason in explain.reasons(problem, rows, because)] == [
        "n2 is down, and one node is enough",
        "it is not to be on n1, and one node is enough",
        "one node is enough",
    ]


HINDERED = {
    "kept apart": re.compile(r"kept apart from \S+ on (n\d)"),
    "not on": re.compile(r"not to be on (n\d)"),
    "limits": re.compile(r"the limits of moves leave none for it()"),
}


def test_without_what_hinders_a_site_it_would_do_good_elsewhere(cluster: Cluster) -> None:
    """Each cause that is named is taken away, on random clusters."""
    seen = Counter[str]()
    for seed in range(300):
        rng, nodes = np.random.default_rng(seed), 2 + seed % 2
        loads = {f"s{n}": tuple(rng.integers(10, 100, 2).tolist()) for n in range(6)}
        here = {site: [f"n{rng.integers(nodes)}"] for site in loads}
        asked = cluster(loads, here, nodes=nodes)
        first, second, barred = rng.choice(6, 3, replace=False).tolist()
        asked = replace(
            asked,
            apart=(frozenset({first, second}),),
            barred={barred: frozenset({int(rng.integers(nodes))})},
            limits=MoveLimits(moves=[None, 0][int(rng.integers(2))]),
            tolerance=float(rng.uniform(0.05, 0.4)),
        )
        without = {
            "kept apart": replace(asked, apart=()),
            "not on": replace(asked, barred={}),
            "limits": replace(asked, limits=MoveLimits()),
        }
        for row, (site, node) in enumerate(asked.old.tolist()):
            said = explain.stays(asked, asked.old, site, node)
            if said.startswith("it is not to be on"):
                # That is about the node that it is on.
                continue
            for kind, pattern in HINDERED.items():
                for named in pattern.findall(said):
                    seen[kind] += 1
                    targets = [named] if named else set(asked.nodes)
                    assert any(
                        is_within(without[kind], row, node, asked.nodes.index(target))
                        for target in targets
                    ), (seed, said)
    assert min(seen[kind] for kind in HINDERED) > 0, seen


def is_within(problem: Problem, row: int, source: int, target: int) -> bool:
    """Whether both nodes are within the band once the row has moved."""
    moved = problem.old.copy()
    moved[row, 1] = target
    away = np.abs(score.deviation(problem, moved)[[source, target]])
    return bool(source != target and away.max() <= problem.tolerance + 1e-9)

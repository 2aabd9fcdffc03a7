"""From profiles, nodes and wishes to what a solver is asked."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from flex.errors import BadInput, Infeasible, Unknown
from flex.frame_schemas import PLACEMENT, PROFILES, SPREADS
from flex.model.nodes import Node
from flex.model.wish import Pin
from flex.placing import problem as problems
from flex.placing import score
from flex.placing.problem import Problem

Make = Callable[..., Problem]


def test_a_fair_share_is_100_of_each_resource(problem: Make) -> None:
    asked = problem({"a": (100, 10), "b": (50, 20), "c": (50, 10)}, {})
    assert asked.share.tolist() == [100.0, 100.0]
    assert asked.load.sum(axis=0).tolist() == [200.0, 200.0]


def test_a_node_of_twice_the_capacity_has_twice_the_share(
    problem: Make, nodes: Callable[[int], tuple[Node, ...]]
) -> None:
    small, large = nodes(2)
    asked = problem({"a": (1, 1)}, {}, of=(small, replace(large, capacity=2.0)))
    assert asked.share.tolist() == pytest.approx([200 / 3, 400 / 3])


def test_a_draining_node_has_no_share(
    problem: Make, nodes: Callable[[int], tuple[Node, ...]]
) -> None:
    first, second = nodes(2)
    asked = problem({"a": (1, 1)}, {"a": "n1"}, of=(replace(first, state="draining"), second))
    assert asked.share.tolist() == [0.0, 100.0]
    assert asked.open.tolist() == [False, True]


def test_a_silent_site_is_still_there(problem: Make) -> None:
    asked = problem({"a": (1, 1)}, {"a": "n1", "silent": "n2"})
    assert asked.sites == ("a", "silent")
    assert asked.load[1].tolist() == [0.0, 0.0]


def test_a_site_larger_than_its_part_of_a_node_is_split(problem: Make) -> None:
    asked = problem({"a": (900, 10), "b": (100, 90)}, {}, of=4, replicate_above=1.0)
    # 900 of 1,000 bytes on 4 nodes are 3.6 fair shares. The working set of b is as large, but is no
    # smaller on more nodes, so its access rate decides.
    assert dict(zip(asked.sites, asked.replicas.tolist(), strict=True)) == {"a": 4, "b": 1}


def test_replicas_share_the_accesses_and_repeat_the_working_set_as_measured(
    profiles: Callable[[Mapping[str, tuple[int, int]]], pd.DataFrame],
    nodes: Callable[[int], tuple[Node, ...]],
) -> None:
    spreads = SPREADS.from_columns(
        {"site": ["a", "a"], "replicas": [2, 3], "working_set": [80, 60]}
    )
    asked = problems.build(
        profiles({"a": (600, 100), "b": (400, 100)}),
        spreads,
        nodes(2),
        [Pin("a", min_replicas=2)],
        PLACEMENT.empty(),
        tolerance=0.1,
        replicate_above=1.0,
    )
    assert asked.replicas.tolist() == [2, 1]
    # 2 * 80 of a and 100 of b are 260 bytes, or 200 units.
    assert asked.load[0].tolist() == pytest.approx([60.0, 80 * 200 / 260])
    assert asked.cold.tolist() == [80, 100]


def test_a_pin_asks_for_its_nodes_and_for_as_many_replicas(problem: Make) -> None:
    asked = problem({"a": (1, 1), "b": (9, 9)}, {}, of=3, pins=[Pin("a", ("n3", "n1"))])
    assert asked.pinned == {0: frozenset({0, 2})}
    assert asked.replicas.tolist()[0] == 2


@pytest.mark.parametrize(
    ("pin", "error", "named"),
    [
        (Pin("nobody", ("n1",)), Unknown, "nobody"),
        (Pin("a", ("n9",)), Unknown, "n9"),
        (Pin("a", min_replicas=3), Infeasible, "3 replicas"),
    ],
)
def test_an_impossible_pin_is_refused_and_named(
    problem: Make, pin: Pin, error: type[Exception], named: str
) -> None:
    with pytest.raises(error, match=named):
        problem({"a": (1, 1)}, {}, pins=[pin])


def test_a_fixed_site_is_on_its_nodes_and_on_no_more_however_large_it_is(
    profiles: Callable[[Mapping[str, tuple[int, int]]], pd.DataFrame],
    placement: Callable[[Mapping[str, str]], pd.DataFrame],
    nodes: Callable[[int], tuple[Node, ...]],
) -> None:
    asked = problems.build(
        profiles({"a": (900, 90), "b": (100, 10)}),
        SPREADS.empty(),
        nodes(4),
        [],
        placement({"a": "n1 n3", "b": "n2"}),
        tolerance=0.1,
        replicate_above=0.5,
        fixed={"a"},
    )
    assert asked.pinned == {0: frozenset({0, 2})}
    assert asked.replicas.tolist() == [2, 1]


def test_a_pin_on_a_draining_node_names_the_node(
    problem: Make, nodes: Callable[[int], tuple[Node, ...]]
) -> None:
    first, second = nodes(2)
    with pytest.raises(Infeasible, match="n1 is not active"):
        problem(
            {"a": (1, 1)},
            {},
            of=(replace(first, state="draining"), second),
            pins=[Pin("a", ("n1",))],
        )


def test_without_an_active_node_there_is_nothing_to_ask(problem: Make) -> None:
    with pytest.raises(Infeasible, match="there are no nodes"):
        problem({"a": (1, 1)}, {}, of=())


@pytest.mark.parametrize("tolerance", [0.0, 1.0, -0.1, float("nan")])
def test_a_tolerance_that_means_nothing_is_refused(problem: Make, tolerance: float) -> None:
    with pytest.raises(BadInput, match="tolerance"):
        problem({"a": (1, 1)}, {}, tolerance=tolerance)


def test_a_node_that_is_in_the_settings_no_more_is_closed_and_keeps_its_rows(problem: Make) -> None:
    asked = problem({"a": (1, 1)}, {"a": "n1 m1"})
    assert asked.nodes == ("m1", "n1", "n2")
    assert (asked.open.tolist(), asked.gone, asked.share.tolist()) == (
        [False, True, True],
        frozenset({0}),
        [0.0, 100.0, 100.0],
    )
    assert asked.old.tolist() == [[0, 0], [0, 1]]


def test_a_pin_on_a_node_that_is_in_the_settings_no_more_cannot_be_made(problem: Make) -> None:
    with pytest.raises(Unknown, match="known are n1, n2"):
        problem({"a": (1, 1)}, {"a": "m1"}, pins=[Pin("a", ("m1",))])


def test_nothing_to_serve_asks_for_nothing(problem: Make) -> None:
    asked = problem({"a": (0, 0)}, {})
    assert np.isfinite(asked.load).all()
    assert asked.load.tolist() == [[0.0, 0.0]]


@pytest.mark.slow
@given(data=st.data())
def test_the_order_of_rows_never_matters(data: st.DataObject) -> None:
    rows = [(f"s{n}", 100 + 7 * n, 50 + n * n, 10, 5, 1, 9) for n in range(6)]
    shuffled = data.draw(st.permutations(rows))
    cluster = [Node(f"n{n}", (f"192.0.2.{n}",), 1) for n in (1, 2, 3)]
    asked = [
        problems.build(
            PROFILES.make(pd.DataFrame(each, columns=PROFILES.earlier)),
            SPREADS.empty(),
            order,
            [],
            PLACEMENT.empty(),
            tolerance=0.1,
            replicate_above=0.9,
        )
        for each, order in ((rows, cluster), (shuffled, cluster[::-1]))
    ]
    assert asked[0].sites == asked[1].sites
    assert asked[0].nodes == asked[1].nodes
    assert (asked[0].load == asked[1].load).all()


def test_the_judge_counts_what_is_new_and_what_is_given_up(problem: Make) -> None:
    asked = problem({"a": (1, 5), "b": (1, 7)}, {"a": "n1", "b": "n2"})
    rows = np.array([[0, 1], [1, 1]])
    assert score.new_rows(asked, rows).tolist() == [[0, 1]]
    assert score.rows_given_up(asked, rows).tolist() == [[0, 0]]
    assert score.cold_bytes(asked, rows) == 5


def test_the_judge_names_each_broken_rule(
    problem: Make, nodes: Callable[[int], tuple[Node, ...]]
) -> None:
    first, second = nodes(2)
    asked = problem(
        {"a": (1, 1), "b": (1, 1), "c": (1, 1)},
        {},
        of=(first, second, Node("n3", ("192.0.2.3",), 1, state="down")),
        pins=[Pin("a", ("n2",))],
    )
    rows = np.array([[0, 0], [0, 0], [1, 2]])
    found = {(violation.kind, violation.subject) for violation in score.violations(asked, rows)}
    assert found >= {
        ("twice", "a"),
        ("replicas", "a"),
        ("replicas", "c"),
        ("closed", "b on n3"),
        ("pin", "a on n2"),
        ("under", "n2 access rate"),
    }


def test_a_balanced_placement_breaks_nothing(problem: Make) -> None:
    asked = problem({"a": (1, 1), "b": (1, 1)}, {"a": "n1", "b": "n2"})
    assert score.violations(asked, asked.old) == ()
    assert score.balance(asked, asked.old).worst == 0.0

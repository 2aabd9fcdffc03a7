"""What a dead node leaves behind goes on elsewhere, and nothing else moves."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from flex.failover import rehomed, survivors
from flex.problem import Problem

Make = Callable[..., Problem]
NODES = ("n1", "n2", "n3", "n4")

homes = st.sets(st.sampled_from(NODES), min_size=1, max_size=3)
clusters = st.dictionaries(st.sampled_from([f"s{n}" for n in range(30)]), homes, min_size=1)
loads = st.integers(0, 1000)


def asked(problem: Make, placed: Mapping[str, set[str]], size: int = 10) -> Problem:
    return problem(dict.fromkeys(placed, (size, size)), {site: " ".join(sorted(on)) for site, on in placed.items()}, 4)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
@given(clusters)
def test_each_site_leaves_the_dead_node_and_none_is_without_a_node(problem: Make, placed: dict[str, set[str]]) -> None:
    made = asked(problem, placed)
    first = survivors(made, 0)
    second = rehomed(made, first, 0)
    assert set(first[:, 0].tolist()) == set(second[:, 0].tolist()) == set(made.old[:, 0].tolist())
    assert 0 not in second[:, 1]
    # Whoever has another node only loses the dead one; whoever has none gets one and no more.
    alone = {n for n, site in enumerate(made.sites) if placed[site] == {"n1"}}
    kept = {tuple(row) for row in made.old.tolist() if row[1] != 0}
    assert kept <= {tuple(row) for row in second.tolist()}
    new = [row for row in second.tolist() if tuple(row) not in kept]
    assert sorted(site for site, _ in new) == sorted(alone)


def test_the_homeless_are_spread_over_the_nodes_that_have_room(problem: Make) -> None:
    placed = {f"s{n:02}": {"n1"} for n in range(30)} | {f"t{n:02}": {"n2"} for n in range(10)}
    made = asked(problem, placed)
    rows = rehomed(made, survivors(made, 0), 0)
    assert sorted(np.bincount(rows[:, 1], minlength=4).tolist()) == [0, 13, 13, 14]


def test_a_barred_node_is_not_chosen_while_there_is_another(problem: Make) -> None:
    made = replace(asked(problem, {"s": {"n1"}, "t": {"n4"}}), barred={0: frozenset({1})})
    rows = rehomed(made, survivors(made, 0), 0)
    assert rows.tolist() == [[0, 2], [1, 3]]

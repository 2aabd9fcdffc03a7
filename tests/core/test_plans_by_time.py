"""Plans that go by the time that answers and processors take, and what they say where none was
counted.
"""

from __future__ import annotations

from collections.abc import Callable

import pandas as pd
import pytest

from flex.frame_schemas import PLACEMENT, PROFILES, SPREADS
from flex.model.nodes import Node
from flex.placing import score
from flex.placing.problem import DIMENSIONS, Budget, Problem, Terms, build
from flex.planning.propose_plan import remark_on_times
from flex.planning.traffic_by_other_names import OF_SHARE
from flex.planning.what_if import VISITS
from flex.traffic.replicas_and_demand import RESOURCES
from flex_solver import SOLVERS

TIMES = {"service time": "service_us", "cpu": "cpu_us"}


def of_sites(**columns: list[int]) -> pd.DataFrame:
    """Sites that are alike in all but these columns."""
    count = len(next(iter(columns.values())))
    alike = {name: [1000] * count for name in PROFILES.earlier[1:]}
    sites = [f"s{number}.example" for number in range(count)]
    return PROFILES.from_columns({"site": sites, **alike, **columns})


def problem_of(profiles: pd.DataFrame, nodes: tuple[Node, ...], *dimensions: str) -> Problem:
    return build(
        profiles,
        SPREADS.empty(),
        nodes,
        (),
        PLACEMENT.empty(),
        tolerance=0.05,
        replicate_above=1.0,
        terms=Terms(dimensions=(*DIMENSIONS, *dimensions)),
    )


@pytest.mark.parametrize(("name", "column"), TIMES.items())
def test_a_plan_balances_time_where_that_is_asked_for(
    nodes: Callable[[int], tuple[Node, ...]], name: str, column: str
) -> None:
    spent = [9, 9, 1, 1, 9, 9, 1, 1]
    profiles = of_sites(**{"timed": [10] * 8, column: spent})
    asked = problem_of(profiles, nodes(2), name)
    rows = SOLVERS["auto"](asked, Budget(2000)).rows
    balance = score.balance(asked, rows)
    assert balance.worst <= 0.05
    assert [dict(node.others)[name] for node in balance.nodes] == [100.0, 100.0]


@pytest.mark.parametrize("name", TIMES)
def test_a_time_that_nobody_counted_is_no_load_and_is_said(
    nodes: Callable[[int], tuple[Node, ...]], name: str
) -> None:
    profiles = of_sites(requests=[10] * 4)
    asked = problem_of(profiles, nodes(2), name)
    assert asked.dimensions == DIMENSIONS
    (note,) = remark_on_times(profiles, (*DIMENSIONS, name))
    assert note.startswith(f"{name}: none was counted")
    assert "solver.dimensions" in note


def test_sites_without_times_among_others_are_named() -> None:
    some = of_sites(requests=[10, 90], timed=[10, 0], service_us=[5, 0], cpu_us=[0, 7])
    (note,) = remark_on_times(some, ["service time"])
    assert "s1.example" in note
    assert "90%" in note
    (note,) = remark_on_times(some, ["cpu"])
    assert "s0.example" in note
    few = of_sites(requests=[1, 999], timed=[0, 999], service_us=[0, 5])
    assert not list(remark_on_times(few, ["service time"]))
    assert not list(remark_on_times(some, DIMENSIONS))
    part = of_sites(requests=[100], timed=[40], service_us=[5])
    (note,) = remark_on_times(part, ["service time"])
    assert "60%" in note


def test_what_grows_with_visitors_includes_their_time() -> None:
    of_visitors = {"timed", *TIMES.values()}
    assert of_visitors < {*VISITS}
    assert of_visitors < {*OF_SHARE}
    assert {RESOURCES[name] for name in TIMES} == {*TIMES.values()}

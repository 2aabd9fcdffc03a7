"""The exact solver against every placement there is, and against examples done by hand."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flex.model.best_effort_shortfalls import PINS, RESTING, Relaxation, Shortfall, less_of
from flex.placing import score
from flex.placing.problem import Budget, Ints, MoveLimits, Problem
from flex.placing.why_best_effort import text
from flex_solver import SOLVERS
from flex_solver.exact import fewest_moves
from flex_solver.symmetry.site_kinds import kinds
from tests.solver.given import placements
from tests.thorough import times
from tests.unhurried import unhurried

Cluster = Callable[..., Problem]
Best = tuple[float, int, int]

EIGHT = {"a": (60, 60), "b": (30, 30), "c": (30, 30), "d": (80, 80)}


def names(problem: Problem, rows: Ints) -> str:
    return " ".join(f"{problem.sites[s]}:{problem.nodes[n]}" for s, n in rows.tolist())


def test_one_move_settles_it_and_the_cheaper_site_makes_it(cluster: Cluster) -> None:
    problem = cluster(
        EIGHT, {"a": ["n0"], "b": ["n0"], "c": ["n0"], "d": ["n1"]}, cold={"a": 1, "b": 9, "c": 5}
    )
    solution = fewest_moves.place(problem, unhurried())
    assert names(problem, solution.rows) == "a:n0 b:n0 c:n1 d:n1"
    assert (solution.bound, solution.proven, solution.note) == (1, True, "")


def test_a_closed_node_is_emptied_and_pins_hold(cluster: Cluster) -> None:
    problem = cluster(
        {"a": (50, 50), "b": (50, 50), "c": (50, 50), "d": (50, 50)},
        {"a": ["n0"], "b": ["n0"], "c": ["n1"], "d": ["n2"]},
        nodes=3,
        closed=["n2"],
        pins={"a": ["n1"]},
    )
    solution = fewest_moves.place(problem, unhurried())
    assert names(problem, score.new_rows(problem, solution.rows)) == "a:n1 d:n0"
    assert solution.proven


def test_a_site_that_needs_fewer_replicas_gives_one_up_for_nothing(cluster: Cluster) -> None:
    problem = cluster({"a": (100, 100), "b": (100, 100)}, {"a": ["n0", "n1"], "b": ["n0"]})
    solution = fewest_moves.place(problem, unhurried())
    assert names(problem, solution.rows) == "a:n1 b:n0"
    assert (solution.bound, solution.proven) == (0, True)


def test_where_no_placement_is_balanced_the_note_says_who_and_how_much(cluster: Cluster) -> None:
    problem = cluster({"a": (130, 100), "b": (70, 100)}, {"a": ["n0"], "b": ["n0"]})
    solution = fewest_moves.place(problem, unhurried())
    assert names(problem, solution.rows) == "a:n0 b:n1"
    assert not solution.proven
    assert solution.note == (
        "best effort: n0 stays over its access rate by 30.0%, because of a, 130% of a node; "
        "a tolerance of 0.300 would do, and none smaller; no partition is balanced"
    )


@pytest.mark.slow
@settings(max_examples=times(80))
@given(data=st.data())
def test_it_finds_the_best_of_all_placements(
    data: st.DataObject,
    tiny: st.SearchStrategy[Problem],
    best_of_all: Callable[[Problem], Best],
    merit: Callable[..., Best],
) -> None:
    problem = data.draw(tiny)
    solution = fewest_moves.place(problem, unhurried())
    outside, moves, cold = best_of_all(problem)
    found = merit(problem, solution.rows)
    if outside > 0:
        assert found[0] <= outside + problem.tolerance / 9
    else:
        assert found == (0, moves, cold)
        assert solution.proven


@pytest.mark.slow
@settings(max_examples=times(40))
@given(data=st.data())
def test_so_many_pins_as_it_says_must_be_taken_back_and_no_fewer(
    data: st.DataObject, tiny: st.SearchStrategy[Problem]
) -> None:
    problem = data.draw(tiny)
    short = fewest_moves.place(problem, unhurried()).shortfalls
    free = replace(problem, pinned={})
    broken = [
        _broken_pins(problem, rows) for rows in placements(free) if not score.violations(free, rows)
    ]
    said = [one for each in short for one in each.instead if one.rule == PINS]
    wanted = (
        [Relaxation(PINS, float(min(broken)), least=True)]
        if short and problem.pinned and broken
        else []
    )
    assert said == wanted


def _broken_pins(problem: Problem, rows: Ints) -> int:
    there = {(site, node) for site, node in rows.tolist()}
    return sum(
        (site, node) not in there for site, nodes in problem.pinned.items() for node in nodes
    )


def test_pins_that_hold_every_site_need_one_taken_back(cluster: Cluster) -> None:
    sites = dict.fromkeys("abcd", (50, 50))
    in_force = {"a": ["n0"], "b": ["n0"], "c": ["n0"], "d": ["n1"]}
    said = (
        fewest_moves.place(cluster(sites, in_force, pins=in_force), unhurried())
        .shortfalls[0]
        .instead
    )
    assert Relaxation(PINS, 1.0, least=True) in said


def test_the_pin_of_a_site_without_load_is_not_counted_as_taken_back(cluster: Cluster) -> None:
    sites = {**dict.fromkeys("abcd", (50, 50)), "idle": (0, 0)}
    in_force = {"a": ["n0"], "b": ["n0"], "c": ["n0"], "d": ["n1"], "idle": ["n0"]}
    said = fewest_moves.place(cluster(sites, in_force, pins=in_force), unhurried())
    assert Relaxation(PINS, 1.0, least=True) in said.shortfalls[0].instead


def test_two_pins_are_not_the_least_where_one_without_load_would_spare_a_move(
    cluster: Cluster,
) -> None:
    """To change places takes both of `a` and `b`; without the pin of `idle`, they may."""
    sites = {"a": (100, 100), "b": (100, 100), "idle": (0, 0)}
    in_force = {"a": ["n0"], "b": ["n1"], "idle": ["n0"]}
    pins = {"a": ["n1"], "b": ["n0"], "idle": ["n1"]}
    problem = replace(cluster(sites, in_force, pins=pins), limits=MoveLimits(moves=2))
    said = [
        one
        for short in fewest_moves.place(problem, unhurried()).shortfalls
        for one in short.instead
        if one.rule == PINS
    ]
    assert said == [Relaxation(PINS, 2.0, least=False)]


@pytest.mark.parametrize(
    ("pinned", "would_do"), [("a", "1 pin taken back would do, and none smaller; "), ("ab", "")]
)
def test_nothing_is_said_of_pins_that_several_sites_kept_together_share(
    cluster: Cluster, pinned: str, would_do: str
) -> None:
    sites = {"a": (25, 25), "b": (25, 25), "c": (100, 100), "d": (50, 50)}
    in_force = {"a": ["n0"], "b": ["n0"], "c": ["n0"], "d": ["n1"]}
    problem = replace(
        cluster(sites, in_force, pins={site: ["n0"] for site in pinned}),
        barred={2: frozenset({1})},
        together=(frozenset({0, 1}),),
    )
    found = SOLVERS["exact"](problem, unhurried())
    assert found.note == (
        "best effort: n0 stays over its access rate by 50.0%, because of c not on n1; "
        f"the pin of a (with b) to n0; a tolerance of 0.500 would do, and none smaller; {would_do}"
        "no partition is balanced"
    )
    rules = [one.rule for one in found.shortfalls[0].instead]
    assert rules == ["tolerance", *[PINS] * bool(would_do)]


def test_a_site_that_rests_on_two_nodes_is_one_site(cluster: Cluster) -> None:
    """Two large sites can be on one node each, and the site of two replicas rests on both."""
    sites = {"a": (40, 40), "b": (40, 40), "p": (100, 100), "q": (100, 100)}
    in_force = {"a": ["n2"], "b": ["n3"], "p": ["n2"], "q": ["n3"], "r": ["n0", "n1"]}
    problem = cluster(
        {**sites, "r": (60, 60)}, in_force, nodes=4, replicas={"r": 2}, pins={"r": ["n0", "n1"]}
    )
    elsewhere = {2: frozenset({1, 2, 3}), 3: frozenset({0, 2, 3})}
    said = fewest_moves.place(
        replace(problem, barred=elsewhere, resting=frozenset({4})), unhurried()
    )
    assert Relaxation(RESTING, 1.0, least=True) in said.shortfalls[0].instead
    assert "1 site that rests moved all the same would do" in said.note


@pytest.mark.parametrize(
    ("resting", "rule", "would_do"),
    [
        ("abcd", RESTING, "1 site that rests moved all the same would do, and none smaller"),
        ("abc", RESTING, "1 site that rests moved all the same would do, and none smaller"),
        ("", PINS, "1 pin taken back would do, and none smaller"),
    ],
)
def test_sites_that_rest_are_not_counted_as_pins(
    cluster: Cluster, resting: str, rule: str, would_do: str
) -> None:
    in_force = {"a": ["n0"], "b": ["n0"], "c": ["n0"], "d": ["n1"]}
    pinned = cluster(dict.fromkeys("abcd", (50, 50)), in_force, pins=in_force)
    found = fewest_moves.place(
        replace(pinned, resting=frozenset(map("abcd".index, resting))), unhurried()
    )
    assert Relaxation(rule, 1.0, least=True) in found.shortfalls[0].instead
    assert would_do in found.note
    assert ("the pin of a to n0" in found.note, "a at rest on n0" in found.note) == (
        not resting,
        bool(resting),
    )


def test_pins_and_sites_that_rest_are_counted_each_for_itself() -> None:
    counts = {(2, 0): "2 pins taken back", (0, 14): "14 sites that rest moved all the same"}
    counts |= {(2, 14): "2 pins taken back and 14 sites that rest moved all the same"}
    counts |= {(1, 1): "1 pin taken back and 1 site that rests moved all the same"}
    for (pins, rests), said in counts.items():
        found = less_of(pins, rests, least=False)
        assert found.enough == pins + rests
        assert f"; {said} would do" in text(Shortfall("apart", "a and b", 0, 1, instead=(found,)))


def test_a_hundred_sites_on_four_nodes_are_proven(drifted: Callable[..., Problem]) -> None:
    solution = SOLVERS["auto"](drifted(100, 4, 1), unhurried())
    assert (solution.solver, solution.proven) == ("exact", True)


def test_twins_are_one_kind_to_the_program(cluster: Cluster) -> None:
    sites = {f"s{s:03}": (1.0, 1.0) for s in range(300)}
    problem = cluster(sites, {site: ["n0"] for site in sites}, nodes=3, tolerance=0.01)
    assert [kind.sites for kind in kinds(problem, range(300))] == [tuple(range(300))]
    solution = fewest_moves.place(problem, Budget(seconds=600))
    assert solution.proven
    assert np.bincount(solution.rows[:, 1]).tolist() == [101, 99, 100]


def test_without_time_every_wish_is_kept_all_the_same(drifted: Callable[..., Problem]) -> None:
    problem = drifted(100, 4, 1)
    solution = fewest_moves.place(problem, Budget(seconds=0))
    assert not [broken for broken in score.violations(problem, solution.rows) if broken.is_wish]
    assert "no exact answer" in solution.note


def test_a_best_effort_names_two_causes_and_counts_the_others() -> None:
    causes = ("a, 30% of the node", "b, 20% of the node", "c, 9% of the node", "7 more")
    said = [
        text(Shortfall("over", "n1 working set", 0.05, 0.3, causes[:count])) for count in (2, 3, 4)
    ]
    both = (
        "n1 stays over its working set by 30.0%, because of a, 30% of the node; b, 20% of the node"
    )
    assert [one.partition("; no tolerance")[0] for one in said] == [
        both,
        f"{both}; and 1 more",
        f"{both}; and 8 more",
    ]

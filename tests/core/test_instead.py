"""Where else a site could be, and what that would make of the nodes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from flex import explain
from flex.instead import Chosen
from flex.problem import Problem

Make = Callable[..., Problem]

# Node n1 has its fair share of 100, n2 has 150 and n3 has 50.
LOADS = {"a": (100, 100), "b": (90, 90), "c": (50, 50), "d": (60, 60)}
IN_FORCE = {"a": "n1", "b": "n2", "c": "n3", "d": "n2"}


def test_the_next_best_place_is_the_one_nearest_to_balance(problem: Make) -> None:
    asked = problem(LOADS, IN_FORCE, of=3)
    first, second = Chosen(asked, asked.old).others(0)
    assert (first.target, first.node, first.outside, first.cold_bytes) == ("n3", "n1", True, 100)
    assert (second.target, str(second)) == ("n2", "n2 outside the band, 150.0 % over its access rate")


def test_where_a_site_may_not_be_is_no_alternative(problem: Make) -> None:
    asked = problem(dict.fromkeys("abc", (100, 100)), {"a": "n1", "b": "n2", "c": "n3"}, of=3)
    assert Chosen(replace(asked, barred={0: frozenset({1, 2})}), asked.old).others(0) == []
    assert [one.target for one in Chosen(replace(asked, apart=(frozenset({0, 1}),)), asked.old).others(0)] == ["n3"]
    assert Chosen(replace(asked, pinned={0: frozenset({0})}), asked.old).others(0) == []


def test_a_site_that_stays_says_why(problem: Make) -> None:
    asked = problem(LOADS, {**IN_FORCE, "quiet": "n3"}, of=3)
    assert explain.stays(asked, asked.old, 0, 0) == "n1 is in balance with it, and no move is free"
    assert explain.stays(asked, asked.old, 1, 1) == "n2 over access rate by 50 %, and other moves bring it to +50 %"
    assert explain.stays(asked, asked.old, 4, 2).startswith("it asks for nothing")
    assert explain.stays(replace(asked, pinned={0: frozenset({0})}), asked.old, 0, 0) == "pinned to n1"

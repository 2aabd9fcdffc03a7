"""Where else a site could be, and what that would make of the nodes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from flex.model.wish import Pin
from flex.placing import explain
from flex.placing.explain import Because
from flex.placing.other_nodes_for_site import Chosen
from flex.placing.problem import MoveLimits, Problem

Make = Callable[..., Problem]

# Node n1 has its fair share of 100, n2 has 150 and n3 has 50.
LOADS = {"a": (100, 100), "b": (90, 90), "c": (50, 50), "d": (60, 60)}
IN_FORCE = {"a": "n1", "b": "n2", "c": "n3", "d": "n2"}


def test_the_next_best_place_is_the_one_nearest_to_balance(problem: Make) -> None:
    asked = problem(LOADS, IN_FORCE, of=3)
    first, second = Chosen(asked, asked.old).others(0)
    assert (first.target, first.node, first.outside, first.cold_bytes) == ("n3", "n1", True, 100)
    assert (second.target, str(second)) == (
        "n2",
        "n2 outside the band, 150.0 % over its access rate",
    )


def test_where_a_site_may_not_be_is_no_alternative(problem: Make) -> None:
    asked = problem(dict.fromkeys("abc", (100, 100)), {"a": "n1", "b": "n2", "c": "n3"}, of=3)
    assert Chosen(replace(asked, barred={0: frozenset({1, 2})}), asked.old).others(0) == []
    assert [
        one.target
        for one in Chosen(replace(asked, apart=(frozenset({0, 1}),)), asked.old).others(0)
    ] == ["n3"]
    assert Chosen(replace(asked, pinned={0: frozenset({0})}), asked.old).others(0) == []


def test_a_site_that_stays_says_why(problem: Make) -> None:
    asked = problem(LOADS, {**IN_FORCE, "quiet": "n3"}, of=3)
    assert (
        explain.stays(asked, asked.old, 0, 0)
        == "n1 is in balance with it, and every move has a cost"
    )
    assert (
        explain.stays(asked, asked.old, 1, 1)
        == "n2 over access rate by 50 %, and no move to it or from it is planned"
    )
    moved = asked.old.copy()
    moved[3] = (3, 2)
    assert (
        explain.stays(asked, moved, 1, 1)
        == "n2 over access rate by 50 %, and other moves bring it to -10 %"
    )
    assert explain.stays(asked, asked.old, 4, 2).startswith("it has no load")
    held = replace(asked, pinned={0: frozenset({0})})
    wish = Because({asked.sites[0]: Pin(asked.sites[0], ("n1",))})
    assert explain.stays(held, held.old, 0, 0, because=wish) == "pinned to n1"
    # Nobody wished it, as where DNS does not let it move.
    assert explain.stays(held, held.old, 0, 0) == "FLEX cannot move it"


def test_sites_kept_together_are_elsewhere_together(problem: Make) -> None:
    asked = replace(problem(LOADS, IN_FORCE, of=3), together=(frozenset({1, 3}),))
    first, _ = Chosen(asked, asked.old).others(1)
    assert (first.target, first.node, f"{first.off:.1f}", first.cold_bytes) == (
        "n3",
        "n3",
        "1.0",
        150,
    )
    assert Chosen(replace(asked, barred={3: frozenset({2})}), asked.old).others(1)[0].target == "n1"
    assert Chosen(replace(asked, pinned={3: frozenset({1})}), asked.old).others(1) == []


def test_what_keeps_a_site_where_it_does_no_good_is_named(problem: Make) -> None:
    asked = problem(LOADS, IN_FORCE, of=3)
    over = "n2 over access rate by 50 %, and "
    hindered = {
        "it is kept apart from c on n3": replace(asked, apart=(frozenset({2, 3}),)),
        "it is not to be on n3": replace(asked, barred={3: frozenset({2})}),
        "the limits of moves leave none for it": replace(asked, limits=MoveLimits(moves=0)),
        "it would move only together with b": replace(asked, together=(frozenset({1, 3}),)),
    }
    asked_with_room = {said: replace(one, tolerance=0.15) for said, one in hindered.items()}
    for said, one in asked_with_room.items():
        assert explain.stays(one, one.old, 3, 1) == over + said
    # Without the limits it would do no good anywhere either: they are no cause.
    strict = replace(asked, limits=MoveLimits(moves=0), tolerance=0.0)
    assert explain.stays(strict, strict.old, 3, 1) == (f"{over}no move to it or from it is planned")
    # Nor are those that it is kept together with.
    together = replace(asked, together=(frozenset({1, 3}),), tolerance=0.0)
    assert explain.stays(together, together.old, 3, 1) == (
        f"{over}no move to it or from it is planned"
    )
    tied = replace(asked, together=(frozenset({1, 3}),), pinned={1: frozenset({1})})
    wish, told = Because({"b": Pin("b", ("n2",))}), "kept together with b, "
    assert explain.stays(tied, tied.old, 3, 1, because=wish) == told + "pinned to n2"
    assert explain.stays(tied, tied.old, 3, 1) == told + "which FLEX cannot move"
    assert explain.stays(asked, asked.old, 3, 1, "it moved on Monday") == "it moved on Monday"

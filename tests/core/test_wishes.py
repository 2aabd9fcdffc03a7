"""Wishes that cannot be kept for a while are suspended, and stop nobody else's plans."""

from __future__ import annotations

from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flex import problem as problems
from flex.domain import Node, NodeState, Pin
from flex.tables import PLACEMENT, PROFILES, SPREADS
from flex.wishes import against, possible

NODES = (Node("n1", ("192.0.2.1",), 1), Node("n2", ("192.0.2.2",), 1, state="draining"), Node("n3", ("192.0.2.3",), 1))
SITES = {"a", "b", "c"}


def test_a_pin_that_can_be_kept_is_kept_as_it_is() -> None:
    pins = (Pin("a", ("n1", "n3")), Pin("b", min_replicas=2))
    kept = possible(pins, SITES, NODES)
    assert (kept.pins, kept.suspended) == (pins, ())


def test_of_a_pin_on_a_drained_node_the_other_nodes_still_hold() -> None:
    kept = possible([Pin("a", ("n2", "n3"))], SITES, NODES)
    assert kept.pins == (Pin("a", ("n3",)),)
    assert kept.suspended == ("a (n2 is draining; n3 still holds)",)


def test_a_pin_of_which_no_node_is_left_leaves_the_site_free() -> None:
    kept = possible([Pin("a", ("n2", "n9"))], SITES, NODES)
    assert kept.pins == ()
    assert kept.suspended == ("a (n2 is draining, n9 is in the settings no more)",)


def test_more_replicas_than_active_nodes_are_as_many_as_there_are_nodes() -> None:
    kept = possible([Pin("a", min_replicas=3)], SITES, NODES)
    assert kept.pins == (Pin("a", min_replicas=2),)
    assert kept.suspended == ("a (3 replicas on 2 active nodes)",)


def test_a_pin_on_a_site_that_is_not_there_waits_for_it() -> None:
    kept = possible([Pin("gone", ("n1",)), Pin("a", ("n1",))], SITES, NODES)
    assert kept.pins == (Pin("a", ("n1",)),)
    assert kept.suspended == ("gone (no site that can be placed)",)


names = st.sampled_from(["n1", "n2", "n3", "n9"])
pins = st.builds(
    Pin, st.sampled_from(["a", "b", "gone"]), st.lists(names, unique=True, max_size=3).map(tuple), st.integers(1, 5)
)
states = st.lists(st.sampled_from(get_args(NodeState)), min_size=3, max_size=3)


@given(wished=st.lists(pins, unique_by=lambda pin: pin.site), states=states)
def test_what_is_possible_never_stops_a_plan(wished: list[Pin], states: list[NodeState]) -> None:
    cluster = [Node("n0", (), 1), *(Node(f"n{n}", (), 1, state=state) for n, state in enumerate(states, start=1))]
    kept = possible(wished, SITES, cluster)
    profiles = PROFILES.from_columns(
        {name: sorted(SITES) if name == "site" else [1] * len(SITES) for name in PROFILES.columns}
    )
    asked = problems.build(
        profiles, SPREADS.empty(), cluster, kept.pins, PLACEMENT.empty(), tolerance=0.1, replicate_above=1.0
    )
    assert all(asked.open[node] for nodes in asked.pinned.values() for node in nodes)


def test_what_pins_say_of_other_sites_gives_way_before_what_they_say_of_nodes() -> None:
    pins = [Pin("a", ("n1",), together=("b",)), Pin("b", not_on=("n1",))]
    kept = possible(pins, SITES, NODES)
    assert kept.pins == (Pin("a", ("n1",)), Pin("b", not_on=("n1",)))
    assert kept.suspended == ("a (together with b, whose wishes for nodes are others; n1 still holds)",)


def test_sites_that_cannot_be_placed_are_nobodys_company() -> None:
    kept = possible([Pin("a", apart=("b", "gone")), Pin("b", together=("gone",))], SITES, NODES)
    assert kept.pins == (Pin("a", apart=("b",)),)
    assert kept.suspended == (
        "a (apart from gone, which cannot be placed)",
        "b (together with gone, which cannot be placed)",
    )


def test_at_least_gives_way_to_not_on() -> None:
    kept = possible([Pin("a", min_replicas=2, not_on=("n1",))], SITES, NODES)
    assert kept.pins == (Pin("a", not_on=("n1",)),)
    every = tuple(node.name for node in NODES)
    assert possible([Pin("a", not_on=every)], SITES, NODES).pins == ()


def test_sites_tied_through_others_are_tied_to_all_their_wishes() -> None:
    pins = [
        Pin("a", ("n1",), max_replicas=1),
        Pin("b", together=("a",)),
        Pin("c", ("n3",), max_replicas=1, together=("b",)),
    ]
    kept = possible(pins, SITES, NODES)
    assert [pin.site for pin in kept.pins if pin.together] == ["b"]
    assert kept.suspended == ("c (together with b, whose wishes for nodes are others; n3 still holds)",)


def test_sites_apart_need_nodes_of_their_own_among_those_they_may_be_on() -> None:
    only = [Pin("a", not_on=("n3",), apart=("b",)), Pin("b", not_on=("n3",))]
    kept = possible(only, SITES, NODES)
    assert kept.suspended == ("a (2 sites apart on 2 active nodes)",)
    assert [pin.not_on for pin in kept.pins] == [("n3",), ("n3",)]
    same = [Pin("a", ("n1",), apart=("b",)), Pin("b", ("n1",))]
    assert possible(same, SITES, NODES).suspended == ("a (2 sites apart on 2 active nodes; n1 still holds)",)


def test_nobody_is_apart_from_whom_it_is_kept_together_with() -> None:
    pins = [Pin("a", together=("b",)), Pin("b", apart=("a",))]
    kept = possible(pins, SITES, NODES)
    assert kept.pins == (Pin("a", together=("b",)),)
    assert kept.suspended == ("b (apart from a, with which it is kept together)",)


WAS = {"a": {"n1"}, "b": {"n1"}, "c": {"n2", "n3"}}


@pytest.mark.parametrize(
    ("pin", "step", "is_against"),
    [
        (Pin("a", not_on=("n2",)), {"a": {"n2"}}, True),
        (Pin("a", not_on=("n2",)), {"a": {"n3"}}, False),
        (Pin("a", ("n2",)), {"a": {"n3"}}, True),
        (Pin("a", ("n2",)), {"a": {"n2"}}, False),
        (Pin("c", ("n2",)), {"c": {"n3"}}, True),
        (Pin("a", ("n1",), min_replicas=2), {"a": {"n1", "n3"}}, False),
        (Pin("a", ("n1",), min_replicas=2), {"a": {"n2", "n3"}}, True),
        (Pin("a", ("n1",)), {"a": {"n1", "n3"}}, True),
        (Pin("a", excluded=True), {"a": {"n2"}}, True),
        (Pin("a", excluded=True), {"b": {"n2"}}, False),
        (Pin("c", min_replicas=2), {"c": {"n2"}}, True),
        (Pin("a", min_replicas=2), {"a": {"n2"}}, False),
        (Pin("c", max_replicas=2), {"c": {"n1", "n2", "n3"}}, True),
        (Pin("c", max_replicas=1), {"c": {"n1", "n2"}}, False),
        (Pin("a", together=("b",)), {"a": {"n2"}}, True),
        (Pin("a", together=("b",)), {"b": {"n2"}}, True),
        (Pin("a", together=("b",)), {"a": {"n2"}, "b": {"n2"}}, False),
        (Pin("a", together=("c",)), {"b": {"n2"}}, False),
        (Pin("a", together=("gone",)), {"a": {"n2"}}, False),
        (Pin("a", apart=("c",)), {"a": {"n2"}}, True),
        (Pin("a", apart=("c",)), {"c": {"n1", "n2"}}, True),
        (Pin("a", apart=("b",)), {"c": {"n1"}}, False),
        (Pin("a", apart=("b",)), {"a": {"n2"}}, False),
    ],
)
def test_a_step_is_against_a_wish_that_it_takes_farther_from_being_kept(
    pin: Pin, step: dict[str, set[str]], is_against: bool
) -> None:
    assert against(pin, WAS, {**WAS, **step}) == is_against


PLACES = st.dictionaries(st.sampled_from("abc"), st.sets(st.sampled_from(("n1", "n2", "n3"))))
NAMES = st.lists(st.sampled_from(("n1", "n2", "n3")), unique=True).map(tuple)
OTHERS = st.sampled_from(((), ("b",), ("c",), ("b", "c")))


@given(
    pin=st.builds(
        Pin, st.just("a"), NAMES, st.integers(1, 3), not_on=NAMES, max_replicas=st.integers(0, 3), together=OTHERS,
        apart=OTHERS, excluded=st.booleans(),
    ),
    places=PLACES,
)  # fmt: skip
def test_whoever_stays_where_he_is_goes_against_nobodys_wish(pin: Pin, places: dict[str, set[str]]) -> None:
    assert not against(pin, places, places)

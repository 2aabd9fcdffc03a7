"""Wishes that cannot be kept for a while are suspended, and stop nobody else's plans."""

from __future__ import annotations

from typing import get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flex.frame_schemas import PLACEMENT, PROFILES, SPREADS
from flex.model.nodes import Node, NodeState
from flex.model.wish import Pin
from flex.placing import bundles
from flex.placing import problem as problems
from flex.wishes.seat_rivals_apart import Guest, seat
from flex.wishes.suspended_wishes import is_against_wish, possible
from tests.thorough import times

NODES = (
    Node("n1", ("192.0.2.1",), 1),
    Node("n2", ("192.0.2.2",), 1, state="draining"),
    Node("n3", ("192.0.2.3",), 1),
)
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
    assert kept.suspended == ("gone (it is no site that FLEX can move now)",)


names = st.lists(st.sampled_from(["n1", "n2", "n3", "n9"]), unique=True, max_size=2).map(tuple)
company = st.lists(st.sampled_from("abcdefg"), unique=True, max_size=3).map(tuple)
pins = st.builds(
    Pin, st.sampled_from([*"abcdef", "gone"]), names, st.integers(1, 3),
    together=st.just(()) | company, apart=company,
    not_on=st.just(()) | names, max_replicas=st.sampled_from([0, 0, 3]),
)  # fmt: skip
states = st.lists(st.sampled_from(get_args(NodeState)), min_size=3, max_size=3)


def _means_something(pin: Pin) -> bool:
    return pin.site not in (*pin.together, *pin.apart) and not (
        set(pin.together) & set(pin.apart) or set(pin.nodes) & set(pin.not_on)
    )


@settings(max_examples=times(60))
@given(
    wished=st.lists(pins.filter(_means_something), unique_by=lambda pin: pin.site),
    states=states,
    size=st.data(),
)
def test_what_is_possible_never_stops_a_plan(
    wished: list[Pin], states: list[NodeState], size: st.DataObject
) -> None:
    cluster = [
        Node("n0", (), 1),
        *(Node(f"n{n}", (), 1, state=state) for n, state in enumerate(states, start=1)),
    ]
    sites = sorted("abcdefg")
    kept = possible(wished, set(sites), cluster)
    asked_for = [size.draw(st.sampled_from([1, 1, 1, 5])) for _ in sites]
    profiles = PROFILES.from_columns(
        {name: sites if name == "site" else asked_for for name in PROFILES.columns}
    )
    asked = problems.build(
        profiles,
        SPREADS.empty(),
        cluster,
        kept.pins,
        PLACEMENT.empty(),
        tolerance=0.1,
        replicate_above=0.6,
    )
    assert all(asked.open[node] for nodes in asked.pinned.values() for node in nodes)
    bundled = bundles.bundle_groups(asked).problem
    assert not seat(_guests(bundled), bundled.apart).impossible


def _guests(asked: problems.Problem) -> dict[int, Guest[int]]:
    def guest(site: int, count: int) -> Guest[int]:
        on = asked.pinned.get(site, frozenset())
        shut = on | asked.barred.get(site, frozenset())
        return Guest(
            count,
            on,
            tuple(node for node, is_open in enumerate(asked.open) if is_open and node not in shut),
        )

    found = {site: guest(site, count) for site, count in enumerate(asked.replicas.tolist())}
    assert all(
        len(each.on) <= each.count <= len(each.on) + len(each.free) for each in found.values()
    )
    return found


def test_what_pins_say_of_other_sites_gives_way_before_what_they_say_of_nodes() -> None:
    pins = [Pin("a", ("n1",), together=("b",)), Pin("b", not_on=("n1",))]
    kept = possible(pins, SITES, NODES)
    assert kept.pins == (Pin("a", ("n1",)), Pin("b", not_on=("n1",)))
    assert kept.suspended == (
        "a (together with b, whose wishes for nodes are others; n1 still holds)",
    )


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
    assert kept.suspended == (
        "c (together with b, whose wishes for nodes are others; n3 still holds)",
    )


def test_sites_together_are_nowhere_where_none_of_their_pins_asks_for_so_many_nodes() -> None:
    pins = [Pin("a", ("n1",)), Pin("b", ("n3",), together=("a",))]
    kept = possible(pins, SITES, NODES)
    assert kept.pins == (Pin("a", ("n1",)), Pin("b", ("n3",)))
    assert kept.suspended == (
        "b (together with a, whose wishes for nodes are others; n3 still holds)",
    )
    two = [Pin("a", ("n1",), min_replicas=2), Pin("b", ("n3",), together=("a",))]
    assert possible(two, SITES, NODES).suspended == ()


def test_sites_apart_over_several_pins_need_a_node_each() -> None:
    pins = [Pin("a", apart=("b",)), Pin("b", apart=("c",)), Pin("c", apart=("a",))]
    kept = possible(pins, SITES, NODES)
    assert kept.pins == tuple(pins[:2])
    assert kept.suspended == (
        "c (2 sites apart on 2 active nodes, beside others that are kept apart)",
    )
    four = [Node(f"n{n}", (), 1) for n in range(4)]
    every = [Pin("a", apart=("b", "c", "d")), Pin("e", apart=("a", "b", "c"))]
    assert possible(every, set("abcde"), four).suspended == ()
    assert len(possible([*every, Pin("d", apart=("e",))], set("abcde"), four).suspended) == 1


def test_sites_apart_need_nodes_of_their_own_among_those_they_may_be_on() -> None:
    only = [Pin("a", not_on=("n3",), apart=("b",)), Pin("b", not_on=("n3",))]
    kept = possible(only, SITES, NODES)
    assert kept.suspended == ("a (2 sites apart on 2 active nodes)",)
    assert [pin.not_on for pin in kept.pins] == [("n3",), ("n3",)]
    same = [Pin("a", ("n1",), apart=("b",)), Pin("b", ("n1",))]
    assert possible(same, SITES, NODES).suspended == (
        "a (2 sites apart on 2 active nodes; n1 still holds)",
    )


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
    assert is_against_wish(pin, WAS, {**WAS, **step}) == is_against


PLACES = st.dictionaries(st.sampled_from("abc"), st.sets(st.sampled_from(("n1", "n2", "n3"))))
NAMES = st.lists(st.sampled_from(("n1", "n2", "n3")), unique=True).map(tuple)
OTHERS = st.sampled_from(((), ("b",), ("c",), ("b", "c")))


@given(
    pin=st.builds(
        Pin, st.just("a"), NAMES, st.integers(1, 3), not_on=NAMES,
        max_replicas=st.integers(0, 3), together=OTHERS,
        apart=OTHERS, excluded=st.booleans(),
    ),
    places=PLACES,
)  # fmt: skip
def test_whoever_stays_where_he_is_goes_against_nobodys_wish(
    pin: Pin, places: dict[str, set[str]]
) -> None:
    assert not is_against_wish(pin, places, places)

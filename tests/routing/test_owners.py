"""Two maps say who owns each name, whatever was in them before."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flex.routing import host_to_node_maps
from flex.routing.host_to_node_maps import HELD, NOBODY, Heading, Writers, maps_of, node_backend

NAMES = st.sampled_from([f"{letter}.example" for letter in "abcdefgh"])
OWNERS = st.dictionaries(NAMES, st.sampled_from(["n1", "n2", "n3"]))

SOME = st.frozensets(NAMES)


@st.composite
def some_writers(draw: st.DrawFn) -> Writers:
    """What waits has one writer."""
    one = draw(SOME)
    return Writers(one, one & draw(SOME))


def said(made: host_to_node_maps.Owners) -> dict[str, str]:
    """As HAProxy reads them: what the small map says goes first."""
    both = {**host_to_node_maps.read(made.large), **host_to_node_maps.read(made.moved)}
    return {name: backend for name, backend in both.items() if backend != NOBODY}


@given(OWNERS, OWNERS)
def test_the_two_maps_say_who_owns_each_name_whatever_the_large_one_is(
    before: dict[str, str], now: dict[str, str]
) -> None:
    made = maps_of(now, host_to_node_maps.map_of(before))
    assert said(made) == {name: node_backend(node) for name, node in now.items()}
    assert made.large == host_to_node_maps.map_of(before)
    assert made.names == len(now)
    assert made.differ == len(host_to_node_maps.read(made.moved))


@pytest.mark.slow
@given(OWNERS, OWNERS)
def test_the_small_map_has_what_differs_and_nothing_else(
    before: dict[str, str], now: dict[str, str]
) -> None:
    differ = {name for name in before.keys() | now.keys() if before.get(name) != now.get(name)}
    assert (
        host_to_node_maps.read(maps_of(now, host_to_node_maps.map_of(before)).moved).keys()
        == differ
    )


@pytest.mark.slow
@given(OWNERS, st.permutations(["a.example", "b.example", "c.example"]))
def test_the_order_of_names_changes_nothing(now: dict[str, str], order: list[str]) -> None:
    turned = dict(sorted(now.items(), key=lambda pair: pair[0][::-1]))
    assert maps_of(now).large == maps_of(turned).large
    assert host_to_node_maps.map_of(dict.fromkeys(order, "n1")) == host_to_node_maps.map_of(
        dict.fromkeys(sorted(order), "n1")
    )


def test_an_empty_map_without_its_last_line_end_is_not_whole() -> None:
    assert not host_to_node_maps.is_whole(host_to_node_maps.map_of({})[:-1])


@given(OWNERS, st.data())
def test_a_map_that_was_cut_or_changed_is_not_whole_and_is_written_anew(
    now: dict[str, str], data: st.DataObject
) -> None:
    whole = host_to_node_maps.map_of(now)
    cut = whole[: data.draw(st.integers(0, len(whole) - 1))]
    assert host_to_node_maps.is_whole(whole)
    assert not host_to_node_maps.is_whole(cut)
    assert not host_to_node_maps.is_whole(f"{whole}z.example at_n9\n")
    assert said(maps_of(now, cut)) == {name: node_backend(node) for name, node in now.items()}
    assert maps_of(now, cut).differ == 0


def test_the_large_map_is_old_when_a_quarter_of_all_names_differ_from_it() -> None:
    names = [f"s{number}.example" for number in range(8_000)]
    large = host_to_node_maps.map_of(dict.fromkeys(names, "n1"))
    for moved, is_old in ((1_000, False), (2_000, False), (2_001, True)):
        now = {name: "n2" if place < moved else "n1" for place, name in enumerate(names)}
        assert maps_of(now, large).is_old == is_old


@given(OWNERS, OWNERS, st.integers(1, 10**15))
def test_what_the_small_map_says_of_itself_is_no_name_and_changes_no_owner(
    before: dict[str, str], now: dict[str, str], number: int
) -> None:
    made = maps_of(now, host_to_node_maps.map_of(before))
    wanted = Heading("c0ffee", host_to_node_maps.digest(made.large), number)
    headed = host_to_node_maps.set_heading(made, wanted)
    assert host_to_node_maps.heading(made.moved) is None
    assert host_to_node_maps.heading(headed.moved) == wanted
    assert said(headed) == said(made)
    assert host_to_node_maps.is_whole(headed.moved)
    again = host_to_node_maps.set_heading(headed, replace(wanted, order=number + 1))
    assert host_to_node_maps.strip_heading(again).moved == made.moved


@pytest.mark.slow
def test_the_large_map_is_old_when_each_change_would_exchange_too_many_names() -> None:
    names = [f"s{number}.example" for number in range(210_000)]
    large = host_to_node_maps.map_of(dict.fromkeys(names, "n1"))
    for moved, is_old in ((50_000, False), (50_001, True)):
        now = {name: "n2" if place < moved else "n1" for place, name in enumerate(names)}
        assert maps_of(now, large).is_old == is_old


@given(OWNERS, OWNERS)
def test_who_has_both_maps_makes_the_next_large_one_of_them(
    before: dict[str, str], now: dict[str, str]
) -> None:
    made = maps_of(now, host_to_node_maps.map_of(before))
    headed = host_to_node_maps.set_heading(made, Heading("c0ffee", "0" * 12, 7))
    for moved in (made.moved, headed.moved):
        assert host_to_node_maps.large_map_of(made.large, moved) == host_to_node_maps.map_of(now)


def test_of_maps_that_are_not_whole_nothing_is_made() -> None:
    whole = host_to_node_maps.map_of({"a.example": "n1"})
    assert host_to_node_maps.large_map_of(whole[:-1], whole) == ""
    assert host_to_node_maps.large_map_of(whole, whole[:-1]) == ""
    assert host_to_node_maps.large_map_of("", "") == ""


@pytest.mark.slow
@given(OWNERS, OWNERS, some_writers(), some_writers())
def test_the_two_maps_say_of_each_name_whether_it_has_one_writer_and_whether_requests_wait(
    before: dict[str, str], now: dict[str, str], had: Writers, has: Writers
) -> None:
    large = maps_of(before, "", had).large
    for made in (maps_of(now, large, has), maps_of(now, "", has)):
        assert said(made) == {name: has.backend_of_name(name, node) for name, node in now.items()}
        wait = {name: now[name] for name in has.waiting & now.keys()}
        # Whoever waits looks at the small map alone.
        assert host_to_node_maps.held_names(made.moved) == wait
        assert HELD not in made.large
        assert host_to_node_maps.is_whole(made.moved)
        assert made.differ == len(host_to_node_maps.read(made.moved))


@pytest.mark.slow
@given(OWNERS, OWNERS, some_writers())
def test_the_next_large_map_does_not_say_that_requests_wait(
    before: dict[str, str], now: dict[str, str], has: Writers
) -> None:
    made = maps_of(now, host_to_node_maps.map_of(before), has)
    large = host_to_node_maps.large_map_of(made.large, made.moved)
    assert large == host_to_node_maps.map_of(now, has)
    again = maps_of(now, large, has)
    assert said(again) == said(made)
    assert host_to_node_maps.read(again.moved).keys() == has.waiting & now.keys()


@pytest.mark.slow
@given(OWNERS, OWNERS)
def test_without_such_sites_maps_are_as_if_there_could_be_none(
    before: dict[str, str], now: dict[str, str]
) -> None:
    large = host_to_node_maps.map_of(before)
    other = Writers(frozenset({"z.example"}))
    assert maps_of(now, large, other).moved == maps_of(now, large).moved
    assert maps_of(now, "", other).large == maps_of(now).large


SEVERAL = st.dictionaries(NAMES, st.lists(st.sampled_from(["n1", "n2", "n3"]), max_size=20))


@pytest.mark.slow
@given(OWNERS, OWNERS, SEVERAL, SEVERAL, some_writers())
def test_the_two_maps_say_who_else_has_a_site_whatever_they_said_before(
    before: dict[str, str],
    now: dict[str, str],
    others: dict[str, list[str]],
    others_now: dict[str, list[str]],
    writers: Writers,
) -> None:
    large = maps_of(before, others_of=others).large
    made = maps_of(now, large, writers, others_now)
    more = {
        f"{name}:{number}": node_backend(node)
        for name, nodes in others_now.items()
        for number, node in enumerate(nodes[:15], start=2)
    }
    assert said(made) == more | {
        name: writers.backend_of_name(name, node) for name, node in now.items()
    }
    assert made.differ == len(host_to_node_maps.read(made.moved))
    again = maps_of(now, host_to_node_maps.large_map_of(large, made.moved), writers, others_now)
    assert said(again) == said(made)
    held = {name for name in writers.waiting if name in now}
    assert host_to_node_maps.read(again.moved).keys() == held

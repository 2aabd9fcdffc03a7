"""A node never goes back to an older map of owners, whatever comes and in whatever order."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flex.errors import BadInput
from flex.routing import host_to_node_maps
from flex.routing.host_to_node_maps import MOVED, Heading, maps_of, set_heading
from flex.routing.refuse_older_maps import refuse_older

LARGE = host_to_node_maps.map_of({"a.example": "n1"})


def small(number: int, cluster: str = "ours", node: str = "n2") -> str:
    """Without a heading where the number is 0: made before maps had numbers."""
    made = maps_of({"a.example": node}, LARGE)
    heading = Heading(cluster, host_to_node_maps.digest(LARGE), number)
    return set_heading(made, heading).moved if number else made.moved


MAPS = st.builds(
    small, st.integers(0, 5), st.sampled_from(["ours", "theirs"]), st.sampled_from(["n2", "n3"])
)


def taken(coming: str, here: str, *, other_cluster: bool = False) -> bool:
    try:
        refuse_older({MOVED: coming}, {MOVED: here}, other_cluster=other_cluster)
    except BadInput:
        return False
    return True


@given(st.lists(MAPS, min_size=1), MAPS)
def test_a_node_never_goes_back_to_an_older_map(maps: list[str], first: str) -> None:
    here = first
    for coming in maps:
        before, now = (host_to_node_maps.heading(one) for one in (here, coming))
        if not taken(coming, here):
            assert before
            continue
        if before:
            assert now
            assert now.cluster == before.cluster
            assert now.order > before.order or coming == here
        here = coming


@given(MAPS, MAPS)
def test_what_arrives_in_any_order_ends_with_the_newest(one: str, other: str) -> None:
    """A node ends with the same one of two maps of a cluster, whichever came first."""
    first, second = (host_to_node_maps.heading(text) for text in (one, other))
    if not first or not second or first.cluster != second.cluster:
        return
    if first.order == second.order:
        return
    assert taken(other, one) != taken(one, other)


@given(MAPS, MAPS, st.data())
def test_what_was_cut_short_here_gives_way_and_loses_nothing(
    here: str, coming: str, data: st.DataObject
) -> None:
    cut = here[: data.draw(st.integers(0, len(here) - 1))]
    assert taken(coming, cut)


def test_files_without_maps_turn_doors_off() -> None:
    refuse_older({}, {MOVED: small(3)})
    refuse_older({MOVED: small(1)}, {})


def test_each_refusal_says_both_orders() -> None:
    for coming, said in (
        (small(2), "the newer order 3"),
        (small(3, node="n3"), "another one of the same number"),
        (small(9, "theirs"), "of the cluster ours"),
        (small(0), "order 3 is in force"),
    ):
        with pytest.raises(BadInput, match=said):
            refuse_older({MOVED: coming}, {MOVED: small(3)})
    refuse_older({MOVED: small(1, "theirs")}, {MOVED: small(3)}, other_cluster=True)

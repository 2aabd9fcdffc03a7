"""Sites that are not to meet find nodes of their own wherever there are such, and only there."""

from __future__ import annotations

from itertools import combinations, product
from math import comb

from hypothesis import given
from hypothesis import strategies as st

from flex.wishes.seat_rivals_apart import Guest, rivals_of, seat

NODES = range(4)


@st.composite
def guests(draw: st.DrawFn) -> Guest[int]:
    on = frozenset(draw(st.sets(st.sampled_from(NODES), max_size=1)))
    free = draw(st.permutations([node for node in NODES if node not in on]))
    return Guest(draw(st.integers(1, 2)), on, tuple(free[: draw(st.integers(0, 4))]))


def choices(guest: Guest[int]) -> list[frozenset[int]]:
    return [guest.on | set(others) for others in combinations(guest.free, guest.missing)]


@given(
    everyone=st.lists(guests(), min_size=1, max_size=5),
    groups=st.lists(st.sets(st.integers(0, 4), min_size=2, max_size=3), max_size=4),
)
def test_the_search_agrees_with_a_look_at_every_seating(
    everyone: list[Guest[int]], groups: list[set[int]]
) -> None:
    there = [group & set(range(len(everyone))) for group in groups]
    pairs = [(one, other) for one, others in rivals_of(there).items() for other in others]

    def right(nodes: tuple[frozenset[int], ...]) -> bool:
        return all(not nodes[one] & nodes[other] for one, other in pairs)

    found = seat(dict(enumerate(everyone)), there)
    assert found.sure
    assert (found.nodes is not None) == any(map(right, product(*map(choices, everyone))))
    if found.nodes is not None:
        nodes = tuple(frozenset(found.nodes[one]) for one in range(len(everyone)))
        assert right(nodes)
        assert all(mine in choices(guest) for mine, guest in zip(nodes, everyone, strict=True))


def test_the_likeliest_nodes_are_given_where_nothing_speaks_against_them() -> None:
    found = seat(
        {"a": Guest(1, frozenset(), (3, 1)), "b": Guest(2, frozenset({2}), (1, 0))}, [("a", "b")]
    )
    assert found.nodes == {"a": (3,), "b": (2, 1)}


def test_more_rivals_than_nodes_are_seen_at_once_however_they_are_tied() -> None:
    everyone = {one: Guest(1, frozenset(), tuple(range(64))) for one in range(65)}
    pairs = list(combinations(everyone, 2))
    assert len(pairs) == comb(65, 2)
    assert seat(everyone, pairs, steps=100).impossible
    assert not seat(everyone, pairs[1:], steps=100).impossible

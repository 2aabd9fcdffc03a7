"""The loop of prediction and simulation, in every engine that is installed: by hand where small, by
law elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from flex import native_or_python
from flex.prediction.cache_replay import (
    Ints,
    Replayed,
    Sample,
    reference_replay,
    replay,
)

Loop = Callable[[Ints, Ints, Ints, Ints], tuple[Ints, Ints, Ints, Ints]]
LOOPS: dict[str, Loop] = {
    "python": partial(reference_replay, "lru"),
    native_or_python.name(): partial(native_or_python.pick("replay", reference_replay), "lru"),
}


@pytest.fixture(params=list(LOOPS), scope="module")
def loop(request: pytest.FixtureRequest) -> Loop:
    return LOOPS[request.param]


def _ints(*values: int) -> Ints:
    return np.array(values, dtype=np.int64)


def _misses(loop: Loop, accesses: str, *, sizes: dict[str, int], ram: int) -> int:
    """Accesses to targets a, b, c … on one node."""
    names = sorted(sizes)
    target = _ints(*(names.index(name) for name in accesses))
    size = _ints(*(sizes[name] for name in names))
    return int(loop(target, np.zeros_like(target), size, _ints(ram))[1][0])


def test_the_first_access_to_a_target_misses_and_the_next_hits(loop: Loop) -> None:
    assert _misses(loop, "aaa", sizes={"a": 1}, ram=1) == 1


def test_the_target_that_was_not_asked_for_longest_makes_room(loop: Loop) -> None:
    # c drives b out, as a was asked for again; a is still there.
    assert _misses(loop, "abaca", sizes={"a": 1, "b": 1, "c": 1}, ram=2) == 3
    assert _misses(loop, "abacab", sizes={"a": 1, "b": 1, "c": 1}, ram=2) == 4


def test_a_large_target_drives_out_as_many_as_it_needs(loop: Loop) -> None:
    sizes = {"a": 1, "b": 1, "c": 1, "z": 2}
    assert _misses(loop, "abczc", sizes=sizes, ram=3) == 4
    assert _misses(loop, "abczab", sizes=sizes, ram=3) == 6


def test_a_target_larger_than_the_memory_is_read_each_time_and_drives_nothing_out(
    loop: Loop,
) -> None:
    assert _misses(loop, "azzza", sizes={"a": 1, "z": 9}, ram=3) == 4


def test_without_memory_everything_is_read_from_disk(loop: Loop) -> None:
    assert _misses(loop, "aaa", sizes={"a": 1}, ram=0) == 3


def test_bytes_are_counted_where_they_came_from(loop: Loop) -> None:
    target, node = _ints(0, 1, 0, 1, 0), _ints(0, 0, 0, 1, 1)
    requests, misses, total, disk = loop(target, node, _ints(10, 300), _ints(1000, 1000))
    assert requests.tolist() == [3, 2]
    assert misses.tolist() == [2, 2]
    assert total.tolist() == [320, 310]
    assert disk.tolist() == [310, 310]


def test_no_access_is_no_load(loop: Loop) -> None:
    for counts in loop(_ints(), _ints(), _ints(), _ints(5, 5)):
        assert counts.tolist() == [0, 0]


@st.composite
def traffic(draw: st.DrawFn, *, equal_sizes: bool = False) -> tuple[Ints, Ints, Ints, Ints]:
    targets, nodes = draw(st.integers(1, 12)), draw(st.integers(1, 3))
    accesses = draw(
        st.lists(st.tuples(st.integers(0, targets - 1), st.integers(0, nodes - 1)), max_size=80)
    )
    size = [draw(st.integers(0, 9))] * targets if equal_sizes else draw(_counts(targets, 9))
    target, node = (
        (_ints(*column) for column in zip(*accesses, strict=True))
        if accesses
        else (_ints(), _ints())
    )
    return target, node, _ints(*size), _ints(*draw(_counts(nodes, 30)))


def _counts(length: int, most: int) -> st.SearchStrategy[list[int]]:
    return st.lists(st.integers(0, most), min_size=length, max_size=length)


@given(traffic())
def test_what_was_not_missed_was_in_memory(
    loop: Loop, asked: tuple[Ints, Ints, Ints, Ints]
) -> None:
    target, node, size, ram = asked
    requests, misses, total, disk = loop(*asked)
    assert requests.tolist() == np.bincount(node, minlength=len(ram)).tolist()
    assert total.sum() == size[target].sum()
    assert (misses <= requests).all()
    assert (disk <= total).all()


@given(traffic(equal_sizes=True), st.integers(0, 30))
def test_more_memory_never_misses_more_where_targets_are_of_one_size(
    loop: Loop, asked: tuple[Ints, Ints, Ints, Ints], more: int
) -> None:
    # LRU is a stack algorithm for equal sizes only; with mixed sizes more memory can indeed miss
    # more.
    target, node, size, ram = asked
    assert (loop(target, node, size, ram + more)[1] <= loop(*asked)[1]).all()


@given(traffic())
def test_a_node_with_room_for_all_reads_each_target_once(
    loop: Loop, asked: tuple[Ints, Ints, Ints, Ints]
) -> None:
    target, node, size, ram = asked
    _, misses, _, disk = loop(target, node, size, np.full_like(ram, size.sum()))
    for n in range(len(ram)):
        seen = np.unique(target[node == n])
        assert misses[n] == len(seen)
        assert disk[n] == size[seen].sum()


@given(traffic())
def test_nodes_do_not_share_their_memory(loop: Loop, asked: tuple[Ints, Ints, Ints, Ints]) -> None:
    target, node, size, ram = asked
    together = loop(*asked)
    for n in range(len(ram)):
        here = node == n
        alone = loop(target[here], np.zeros(here.sum(), dtype=np.int64), size, ram[n : n + 1])
        assert [int(counts[0]) for counts in alone] == [int(counts[n]) for counts in together]


@given(traffic())
def test_every_engine_counts_the_same(asked: tuple[Ints, Ints, Ints, Ints]) -> None:
    answers = {name: [counts.tolist() for counts in loop(*asked)] for name, loop in LOOPS.items()}
    assert all(answer == answers["python"] for answer in answers.values())


def _replay(target: Ints, node: Ints) -> Replayed:
    sample = Sample(
        sites=("a.example",),
        site=_ints(0, 0),
        size=_ints(1, 1),
        target=target,
        time=target,
        rate=1.0,
    )
    return replay(sample, node, _ints(9, 9))


def test_columns_that_skip_in_memory_are_replayed() -> None:
    every_third = _ints(0, 9, 9, 1, 9, 9)[::3]
    assert _replay(every_third[::-1], every_third).requests.tolist() == [1, 1]


@pytest.mark.parametrize(
    "node", [_ints(0), _ints(0, -1), _ints(0, 2)], ids=["too few", "none", "one too many"]
)
def test_an_access_to_a_node_that_is_not_there_is_a_fault(node: Ints) -> None:
    with pytest.raises(AssertionError):
        _replay(_ints(0, 1), node)

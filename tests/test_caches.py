"""What every cache policy promises, and counts worked out by hand from the papers that describe
them.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from flex import native_or_python
from flex.caches import CACHES
from flex.prediction.cache_replay import Ints, Loop, reference_replay, replay_loop


def replays(cache: str) -> dict[str, Loop]:
    """Both engines, or one where the native loops are not there or do not know the policy."""
    loop = replay_loop(cache)
    return {
        "python": reference_replay,
        **({"native": loop} if loop is not reference_replay else {}),
    }


@pytest.fixture(params=list(CACHES), scope="module")
def cache(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@st.composite
def accesses(draw: st.DrawFn) -> tuple[list[int], list[int], int]:
    """Targets asked for one after the other, the size of each target, and the memory."""
    size = draw(st.lists(st.integers(0, 12), min_size=1, max_size=15))
    asked = draw(st.lists(st.integers(0, len(size) - 1), max_size=150))
    return asked, size, draw(st.integers(0, 40))


@given(accesses())
def test_no_cache_holds_more_than_its_memory_or_anything_larger_than_it(
    cache: str, drawn: tuple[list[int], list[int], int]
) -> None:
    asked, size, limit = drawn
    memory = CACHES[cache](limit)
    for target in asked:
        memory.ask(target, size[target])
        held = memory.contents()
        assert sum(held.values()) <= limit
        assert (target in held) == (size[target] <= limit)


@given(accesses())
def test_a_hit_is_only_what_was_put_in_and_is_still_there(
    cache: str, drawn: tuple[list[int], list[int], int]
) -> None:
    asked, size, limit = drawn
    memory = CACHES[cache](limit)
    for target in asked:
        before = memory.contents()
        assert memory.ask(target, size[target]) == (target in before)
        assert memory.contents().items() - before.items() <= {(target, size[target])}


@given(accesses())
def test_what_is_looked_at_first_is_in_memory(
    cache: str, drawn: tuple[list[int], list[int], int]
) -> None:
    asked, size, limit = drawn
    memory = CACHES[cache](limit)
    for target in asked:
        memory.ask(target, size[target])
        assert (
            memory.oldest() in memory.contents() if memory.contents() else memory.oldest() is None
        )


@given(accesses(), st.integers(1, 3))
def test_every_engine_counts_the_same(
    cache: str, drawn: tuple[list[int], list[int], int], nodes: int
) -> None:
    asked, size, limit = drawn
    target = np.array(asked, dtype=np.int64)
    columns = (
        target,
        target * 7 % nodes,
        np.array(size, dtype=np.int64),
        np.arange(limit, limit + nodes),
    )
    counted = {
        name: [c.tolist() for c in replay(cache, *columns)]
        for name, replay in replays(cache).items()
    }
    assert all(counts == counted["python"] for counts in counted.values())


def test_engines_agree_on_long_skewed_traffic(cache: str) -> None:
    """Long enough for counters to saturate, ghosts to be forgotten and heaps to be tidied."""
    columns = _skewed(6000, 400)
    counted = [[c.tolist() for c in replay(cache, *columns)] for replay in replays(cache).values()]
    assert all(counts == counted[0] for counts in counted)


@pytest.mark.skipif(native_or_python.NATIVE is None, reason=native_or_python.WHY_NOT)
def test_the_native_loop_is_asked_for_what_it_knows_and_the_reference_for_the_rest() -> None:
    known = native_or_python.members("CACHES")
    assert set(known) <= set(CACHES)
    assert replay_loop("lru") is not reference_replay
    assert replay_loop("lru", [name for name in known if name != "lru"]) is (reference_replay)


# Misses and bytes read: 20,000 accesses to 1,000 targets by Zipf's law, one node, a tenth of all
# bytes as memory.
EXACT = {
    "lru": (9127, 23439502),
    "gds": (8247, 24114056),
    "gdsf": (7020, 20764222),
    "s3fifo": (7419, 19302624),
    "sieve": (7320, 18827971),
}


def test_counts_stay_what_they_were(cache: str) -> None:
    target, node, size, _ = _skewed(20_000, 1000)
    for replay in replays(cache).values():
        _, misses, _, disk = replay(cache, target, node * 0, size, np.array([size.sum() // 10]))
        assert (int(misses[0]), int(disk[0])) == EXACT[cache]


def _skewed(count: int, targets: int) -> tuple[Ints, Ints, Ints, Ints]:
    """Drawn by arithmetic alone, so that no version of numpy draws others."""
    state, drawn = 1, []
    for _ in range(count):
        state = (state * 6364136223846793005 + 1442695040888963407) % 2**64
        drawn.append(int(targets ** ((state >> 11) / 2**53)) - 1)
    target = np.array(drawn, dtype=np.int64)
    size = np.array([100 + t * 7919 % 5000 for t in range(targets)], dtype=np.int64)
    return target, target % 3, size, np.full(3, size.sum() // 20)


def _evicted(cache: str, accesses: str, *, limit: int, sizes: dict[str, int] | None = None) -> str:
    """What leaves memory, in order, while targets a, b, c … are asked for."""
    memory, gone = CACHES[cache](limit), ""
    for name in accesses:
        before = memory.contents()
        memory.ask(ord(name), (sizes or {}).get(name, 1))
        gone += "".join(sorted(chr(target) for target in before.keys() - memory.contents().keys()))
    return gone


def test_lru_lets_go_of_what_was_not_asked_for_longest() -> None:
    assert _evicted("lru", "abcadeb", limit=3) == "bca"


def test_gds_lets_go_of_large_targets_first_and_ages_the_others() -> None:
    # L is 0: a (size 4) is worth 1/4, b (1) is worth 1; a goes for c and L becomes 1/4.
    assert _evicted("gds", "abc", limit=5, sizes={"a": 4, "b": 1, "c": 3}) == "a"
    # c is worth 1/4 + 1/3, d 1/4 + 1/2; c goes first though it came later than b.
    assert _evicted("gds", "abcde", limit=5, sizes={"a": 4, "b": 1, "c": 3, "d": 1, "e": 2}) == "ac"


def test_gdsf_keeps_what_is_asked_for_often() -> None:
    assert _evicted("gds", "aaabbc", limit=2) == "a"
    assert _evicted("gdsf", "aaabbc", limit=2) == "b"


def test_sieve_spares_what_was_asked_for_since_the_hand_passed() -> None:
    # The paper's figure 3 in small: a is spared once, b goes; then the hand goes on from c.
    assert _evicted("sieve", "abcad", limit=3) == "b"
    assert _evicted("sieve", "abcade", limit=3) == "bc"
    # The hand has reached the end and starts over: a, no longer asked for, is next.
    assert _evicted("sieve", "abcadefg", limit=3) == "bcde"


def test_s3fifo_lets_go_of_what_was_asked_for_once_before_what_came_again() -> None:
    # Twenty bytes of which two are the small queue's: a, asked for three times, moves on; the scan
    # b to v leaves.
    scan = "bcdefghijklmnopqrstuv"
    assert _evicted("s3fifo", "aaa" + scan, limit=20) == "bc"
    # What left is remembered: asked for again it enters the main queue, and a second scan does not
    # drive it out.
    assert "b" not in _evicted("s3fifo", "aaa" + scan + "b" + "wxyz", limit=20)[2:]

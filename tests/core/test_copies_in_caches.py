"""How much memory holds copies under round robin: laws of the estimate, and what real caches of the
least recently used hold.
"""

from __future__ import annotations

from collections import OrderedDict

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from flex.prediction.copies_in_caches import round_robin_copies

FILES = st.lists(st.tuples(st.integers(1, 10**5), st.integers(0, 10**9)), min_size=1, max_size=60)


def columns(files: list[tuple[int, int]]) -> tuple[np.ndarray, np.ndarray]:
    table = np.array(files, dtype=float)
    return table[:, 0], table[:, 1]


@given(FILES, st.integers(1, 64), st.integers(0, 10**11))
def test_no_node_holds_more_than_its_memory_and_nothing_is_there_that_nobody_has(
    files: list[tuple[int, int]], nodes: int, ram: int
) -> None:
    requests, size = columns(files)
    found = round_robin_copies(requests, size, nodes, ram)
    room = nodes * min(ram, size.sum())
    assert 0 <= found.held <= room * (1 + 1e-9) + 1e-6
    assert found.distinct <= min(size.sum(), found.held) * (1 + 1e-9) + 1e-6
    assert found.distinct >= found.held / nodes * (1 - 1e-9) - 1e-6


@given(FILES, st.integers(0, 10**11))
def test_a_single_node_wastes_nothing(files: list[tuple[int, int]], ram: int) -> None:
    found = round_robin_copies(*columns(files), 1, ram)
    assert found.wasted_bytes <= found.held * 1e-9 + 1e-6


@given(FILES, st.integers(2, 16), st.integers(1, 10**10))
def test_more_memory_never_holds_less(files: list[tuple[int, int]], nodes: int, ram: int) -> None:
    less = round_robin_copies(*columns(files), nodes, ram)
    more = round_robin_copies(*columns(files), nodes, ram * 2)
    assert more.held >= less.held * (1 - 1e-9)
    assert more.distinct >= less.distinct * (1 - 1e-9)


def real_caches(requests: np.ndarray, size: np.ndarray, nodes: int, ram: int) -> tuple[int, int]:
    """Bytes held and of different files, after every access went to the next node in turn."""
    rng = np.random.default_rng(3)
    accesses = rng.permutation(np.repeat(np.arange(len(size)), requests.astype(int)))
    caches: list[OrderedDict[int, None]] = [OrderedDict() for _ in range(nodes)]
    held = [0] * nodes
    for number, file in enumerate(accesses.tolist()):
        node = number % nodes
        if file in caches[node]:
            caches[node].move_to_end(file)
            continue
        caches[node][file] = None
        held[node] += int(size[file])
        while held[node] > ram:
            out, _ = caches[node].popitem(last=False)
            held[node] -= int(size[out])
    different = {file for cache in caches for file in cache}
    return sum(held), int(size[list(different)].sum())


@pytest.mark.parametrize("nodes", [2, 4, 8])
@pytest.mark.parametrize("share", [0.05, 0.3, 5.0])
@pytest.mark.parametrize("skew", [0.4, 0.9])
def test_it_is_what_real_caches_hold_give_or_take_a_tenth(
    nodes: int, share: float, skew: float
) -> None:
    rng = np.random.default_rng(11)
    requests = np.ceil(4_000 / np.arange(1, 1_001) ** skew)
    size = rng.integers(500, 1_500, 1_000).astype(float)
    ram = int(size.sum() * share)
    held, different = real_caches(requests, size, nodes, ram)
    found = round_robin_copies(requests, size, nodes, ram)
    assert found.held == pytest.approx(held, rel=0.1)
    assert found.distinct == pytest.approx(different, rel=0.1)

"""Kinds of targets add up, and lose nothing of what they count."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flex.prediction.target_classes import Kinds, add_up, class_of, each, kinds
from tests.thorough import times

# The bytes of a site are a whole number of 64 bits: these targets have less than 2**63 in all.
TARGETS = st.lists(
    st.tuples(st.integers(0, 3), st.integers(1, 2**35), st.integers(0, 2**22)), max_size=40
)
Target = tuple[int, int, int]


def of(targets: list[Target]) -> Kinds:
    return kinds(*np.array(targets, dtype=np.int64).reshape(-1, 3).T)


def rows(found: Kinds) -> list[tuple[int, ...]]:
    return sorted(zip(*(getattr(found, name).tolist() for name in Kinds.__slots__), strict=True))


@pytest.mark.slow
@settings(max_examples=times(40))
@given(TARGETS, TARGETS)
def test_kinds_of_parts_add_up_to_the_kinds_of_the_whole(
    one: list[Target], other: list[Target]
) -> None:
    assert rows(add_up([of(one), of(other)])) == rows(of(one + other))


@pytest.mark.slow
@given(TARGETS)
def test_every_target_request_and_byte_of_a_site_is_in_one_of_its_kinds(
    targets: list[Target],
) -> None:
    found = of(targets)
    for site in range(4):
        of_site = [(times, size) for at, times, size in targets if at == site]
        here = found.site == site
        assert found.targets[here].sum() == len(of_site)
        assert found.requests[here].sum() == sum(times for times, _ in of_site)
        assert found.bytes[here].sum() == sum(times * size for times, size in of_site)
        assert found.working_set[here].sum() == sum(size for _, size in of_site)


@pytest.mark.slow
@given(st.integers(1, 2**40), st.integers(1, 2**22), st.integers(2, 50))
def test_targets_alike_are_one_kind_and_others_are_not(times: int, size: int, many: int) -> None:
    alike, apart = (
        [(0, times, size)] * many,
        [(0, times, size), (0, 2 * times, size), (0, times, 2 * size)],
    )
    assert len(of(alike).site) == 1
    assert len(of(apart).site) == 3


def test_a_kind_is_a_power_of_two() -> None:
    assert class_of(np.array([0.0, 1.0, 1.9, 2.0, 3.9, 4.0, 2.0**62])).tolist() == [
        0,
        0,
        0,
        1,
        1,
        2,
        62,
    ]
    assert rows(each(*np.array([[1], [2], [3]]))) == [(1, 1, 2, 6, 3)]

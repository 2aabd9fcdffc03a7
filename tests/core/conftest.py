"""Small clusters, written out so that a test says only what it is about."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import pandas as pd
import pytest

from flex.domain import Node, Pin
from flex.problem import Problem, build
from flex.tables import PLACEMENT, PROFILES, SPREADS

Make = Callable[..., Problem]


@pytest.fixture
def profiles() -> Callable[[Mapping[str, tuple[int, int]]], pd.DataFrame]:
    """{"a": (bytes sent, working set)} as PROFILES."""

    def make(sites: Mapping[str, tuple[int, int]]) -> pd.DataFrame:
        rows = [(site, sent, held, 10, 5, 1, sent // 10) for site, (sent, held) in sites.items()]
        return PROFILES.make(pd.DataFrame(rows, columns=list(PROFILES.columns)))

    return make


@pytest.fixture
def placement() -> Callable[[Mapping[str, str]], pd.DataFrame]:
    """{"a": "n1 n2"} as PLACEMENT."""

    def make(sites: Mapping[str, str]) -> pd.DataFrame:
        rows = [(site, node) for site, nodes in sites.items() for node in nodes.split()]
        return PLACEMENT.make(pd.DataFrame(rows, columns=["site", "node"]))

    return make


@pytest.fixture
def nodes() -> Callable[[int], tuple[Node, ...]]:
    def make(count: int) -> tuple[Node, ...]:
        return tuple(Node(f"n{n}", (f"192.0.2.{n}",), ram=2**20) for n in range(1, count + 1))

    return make


@pytest.fixture
def problem(
    profiles: Callable[[Mapping[str, tuple[int, int]]], pd.DataFrame],
    placement: Callable[[Mapping[str, str]], pd.DataFrame],
    nodes: Callable[[int], tuple[Node, ...]],
) -> Make:
    def make(
        loads: Mapping[str, tuple[int, int]],
        old: Mapping[str, str],
        of: Sequence[Node] | int = 2,
        pins: Sequence[Pin] = (),
        tolerance: float = 0.05,
        replicate_above: float = 1.0,
    ) -> Problem:
        return build(
            profiles(loads),
            SPREADS.empty(),
            nodes(of) if isinstance(of, int) else of,
            pins,
            placement(old),
            tolerance=tolerance,
            replicate_above=replicate_above,
        )

    return make

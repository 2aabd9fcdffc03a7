"""Small clusters, written out so that a test says only what it is about."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import pandas as pd
import pytest

from flex.frame_schemas import PLACEMENT, PROFILES, SPREADS
from flex.model.nodes import Node
from flex.model.period import Period
from flex.model.wish import Pin
from flex.placing.problem import Problem, build
from flex.planning.facts_and_rules import Facts
from flex.prediction.cache_replay import Sample
from flex.store import MemoryStore
from tests.core.cluster import NOW, ZONE, Cluster
from tests.memory_publisher import MemoryPublisher

Make = Callable[..., Problem]
Profiles = Callable[[Mapping[str, tuple[int, int]]], pd.DataFrame]

EMPTY = np.zeros(0, dtype=np.int64)


@pytest.fixture
def profiles() -> Callable[[Mapping[str, tuple[int, int]]], pd.DataFrame]:
    """{"a": (bytes sent, working set)} as PROFILES."""

    def make(sites: Mapping[str, tuple[int, int]]) -> pd.DataFrame:
        rows = [(site, sent, held, 10, 5, 1, sent // 10) for site, (sent, held) in sites.items()]
        return PROFILES.make(pd.DataFrame(rows, columns=PROFILES.earlier))

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


@pytest.fixture
def cluster(profiles: Profiles, nodes: Callable[[int], tuple[Node, ...]]) -> Cluster:
    """Four sites of equal weight on two nodes; by turns a and c are on n1, b and d on n2."""
    sites = {f"{letter}.{ZONE.rstrip('.')}": (100, 100) for letter in "abcd"}
    facts = Facts(
        period=Period.days_before(NOW, 1),
        profiles=profiles(sites),
        spreads=SPREADS.empty(),
        sample=Sample((), EMPTY, EMPTY, EMPTY, EMPTY, 1.0),
        nodes=nodes(2),
        pins=(),
        base="",
        placement=PLACEMENT.empty(),
    )
    return Cluster(facts, MemoryPublisher([ZONE], "me"), MemoryStore())

"""What a sample of targets says of all accesses, where the totals of all targets are known."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import date

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from flex import remarks
from flex.domain import Forecast, Node
from flex.predict import forecast
from flex.replay import Sample, Totals
from flex.scaling import Flags
from flex.sim import twin
from flex.tables import PLACEMENT

NODES = [Node(f"n{number}", (), 4 * 2**20) for number in range(4)]


def totals(whole: Sample) -> Totals:
    times = np.bincount(whole.target, minlength=len(whole.size))
    columns = times, times * whole.size, times > 0, (times > 0) * whole.size
    by_site = (np.bincount(whole.site, column, minlength=len(whole.sites)) for column in columns)
    return Totals(*(column.astype(np.int64) for column in by_site))


def part(whole: Sample, chosen: Flags, rate: float) -> Sample:
    """Only accesses to the chosen targets, with the totals of all."""
    kept = chosen[whole.target]
    return replace(whole, target=whole.target[kept], time=whole.time[kept], rate=rate, totals=totals(whole))


@pytest.fixture(scope="module")
def whole() -> Sample:
    rng = np.random.default_rng(5)
    hosting = twin.hosting(rng, "example.net", twin.Shape(sites=60))
    return twin.sample(hosting, twin.night(hosting, date(2026, 3, 1), 200_000, rng))


def placed(sample: Sample, nodes: Sequence[Node] = NODES) -> Forecast:
    """Each site on one node, in turn."""
    names = [nodes[number % len(nodes)].name for number in range(len(sample.sites))]
    rows = PLACEMENT.from_columns({"site": list(sample.sites), "node": names})
    return forecast(sample, rows, nodes, policy="after")


def points(said: Forecast, true: Forecast) -> list[float]:
    pairs = zip(said.nodes, true.nodes, strict=True)
    return [100 * abs(one.miss_ratio - other.miss_ratio) for one, other in pairs]


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 4)), max_size=60), st.integers(0, 100))
def test_totals_of_a_sample_that_leaves_nothing_out_change_nothing(asked: list[tuple[int, int]], ram: int) -> None:
    target = np.array([5 * site + number for site, number in asked], dtype=np.int64)
    site, size = np.repeat(np.arange(4), 5), np.arange(20) + 1
    sample = Sample(("a", "b", "c", "d"), site, size, target, np.arange(len(target)), 1.0)
    nodes = [replace(node, ram=ram) for node in NODES]
    placement = PLACEMENT.from_columns({"site": ["a", "b", "c"], "node": ["n0", "n1", "n1"]})
    told = replace(sample, totals=totals(sample))
    assert forecast(told, placement, nodes, policy="x") == forecast(sample, placement, nodes, policy="x")


def test_what_a_node_is_asked_for_is_known_whatever_the_sample_has_of_it(whole: Sample) -> None:
    """Even when it has nothing of the most popular target: that would be one access in ten."""
    popular = np.bincount(whole.target).argmax()
    said = placed(part(whole, np.arange(len(whole.size)) != popular, 0.999))
    true = placed(whole)
    assert [(node.requests, node.bytes) for node in said.nodes] == [(node.requests, node.bytes) for node in true.nodes]
    assert max(points(said, true)) < 0.5


def test_miss_ratios_of_a_sample_are_nearly_those_of_all_accesses(whole: Sample) -> None:
    """Half of the targets, and memory for half of what is asked for."""
    nodes = [replace(node, ram=int(totals(whole).working_set.sum()) // 8) for node in NODES]
    near, far = [], []
    for seed in range(8):
        sample = part(whole, np.random.default_rng(seed).random(len(whole.size)) < 0.5, 0.5)
        near += points(placed(sample, nodes), placed(whole, nodes))
        far += points(placed(replace(sample, totals=None), nodes), placed(whole, nodes))
    assert np.median(near) < 1
    assert np.percentile(near, 95) < 3
    assert np.median(near) < np.median(far) / 2


def test_of_a_site_that_the_sample_has_nothing_of_each_target_is_missed_once(whole: Sample) -> None:
    alone = PLACEMENT.from_columns({"site": [whole.sites[7]], "node": ["n0"]})
    sample = part(whole, whole.site != 7, 0.99)
    (node, *_) = forecast(sample, alone, NODES, policy="after").nodes
    (true, *_) = forecast(whole, alone, NODES, policy="after").nodes
    assert (node.requests, node.misses, node.disk_bytes) == (true.requests, true.misses, true.disk_bytes)
    assert true.misses == totals(whole).targets[7]


def test_a_site_on_several_nodes_is_asked_for_on_each(whole: Sample) -> None:
    rows = PLACEMENT.from_columns({"site": [whole.sites[0]] * 3, "node": ["n0", "n1", "n2"]})
    chosen = np.random.default_rng(1).random(len(whole.size)) < 0.25
    said = forecast(part(whole, chosen, 0.25), rows, NODES, policy="after")
    true = forecast(whole, rows, NODES, policy="after")
    asked = ([node.requests for node in each.nodes[:3]] for each in (said, true))
    assert next(asked) == pytest.approx(next(asked), rel=0.1)
    assert max(points(said, true)) < 4
    assert said.left_out == true.left_out


@pytest.mark.parametrize(("rate", "accesses", "said"), [(0.1, 99_999, True), (0.1, 100_000, False), (1.0, 5, False)])
def test_a_part_that_is_too_small_to_tell_misses_says_so(whole: Sample, rate: float, accesses: int, said: bool) -> None:
    small = replace(whole, rate=rate, target=whole.target[:accesses], time=whole.time[:accesses])
    assert bool(list(remarks.of_sample(small))) == said

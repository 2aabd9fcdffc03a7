"""What a sample of targets says of all accesses, where the kinds of all targets are known."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import date
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from flex.frame_schemas import PLACEMENT
from flex.model.nodes import Node
from flex.model.predicted_node_loads import Forecast
from flex.planning import remarks_on_forecasts
from flex.prediction.cache_replay import Sample
from flex.prediction.replay_forecast import forecast, round_robin
from flex.prediction.scale_up_sample import Flags
from flex.prediction.target_classes import Kinds, kinds
from flex.sim import made_up_cluster

NODES = [Node(f"n{number}", (), 4 * 2**20) for number in range(4)]


def totals(whole: Sample) -> Kinds:
    times = np.bincount(whole.target, minlength=len(whole.size))
    asked = times > 0
    return kinds(whole.site[asked], times[asked], whole.size[asked])


def part(whole: Sample, chosen: Flags, rate: float) -> Sample:
    """Only accesses to the chosen targets, with the kinds of all."""
    kept = chosen[whole.target]
    return replace(
        whole, target=whole.target[kept], time=whole.time[kept], rate=rate, totals=totals(whole)
    )


@pytest.fixture(scope="module")
def whole() -> Sample:
    rng = np.random.default_rng(5)
    hosting = made_up_cluster.hosting(rng, "example.net", made_up_cluster.Shape(sites=60))
    return made_up_cluster.sample(
        hosting, made_up_cluster.night(hosting, date(2026, 3, 1), 200_000, rng)
    )


def placed(sample: Sample, nodes: Sequence[Node] = NODES) -> Forecast:
    """Each site on one node, in turn."""
    names = [nodes[number % len(nodes)].name for number in range(len(sample.sites))]
    rows = PLACEMENT.from_columns({"site": list(sample.sites), "node": names})
    return forecast(sample, rows, nodes, policy="after")


def points(said: Forecast, true: Forecast) -> list[float]:
    pairs = zip(said.nodes, true.nodes, strict=True)
    return [100 * abs(one.miss_ratio - other.miss_ratio) for one, other in pairs]


@pytest.mark.slow
@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 4)), max_size=60), st.integers(0, 100))
def test_totals_of_a_sample_that_leaves_nothing_out_change_nothing(
    asked: list[tuple[int, int]], ram: int
) -> None:
    target = np.array([5 * site + number for site, number in asked], dtype=np.int64)
    site, size = np.repeat(np.arange(4), 5), np.arange(20) + 1
    sample = Sample(("a", "b", "c", "d"), site, size, target, np.arange(len(target)), 1.0)
    nodes = [replace(node, ram=ram) for node in NODES]
    placement = PLACEMENT.from_columns({"site": ["a", "b", "c"], "node": ["n0", "n1", "n1"]})
    told = replace(sample, totals=totals(sample))
    assert forecast(told, placement, nodes, policy="x") == forecast(
        sample, placement, nodes, policy="x"
    )


def test_what_a_node_is_asked_for_is_known_whatever_the_sample_has_of_it(whole: Sample) -> None:
    """Even when it has nothing of the most popular target: that would be one access in ten."""
    popular = np.bincount(whole.target).argmax()
    said = placed(part(whole, np.arange(len(whole.size)) != popular, 0.999))
    true = placed(whole)
    assert [(node.requests, node.bytes) for node in said.nodes] == [
        (node.requests, node.bytes) for node in true.nodes
    ]
    assert max(points(said, true)) < 0.5


@pytest.mark.slow
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


def test_a_sample_with_nothing_that_was_asked_for_twice_leaves_it_to_the_kinds_of_targets(
    whole: Sample,
) -> None:
    nodes = [replace(node, ram=int(totals(whole).working_set.sum()) // 8) for node in NODES]
    once = np.bincount(whole.target, minlength=len(whole.size)) == 1
    assert max(points(placed(part(whole, once, 0.1), nodes), placed(whole, nodes))) < 2


@pytest.mark.slow
def test_a_tenth_of_the_targets_ranks_placements_as_all_of_them_do(whole: Sample) -> None:
    nodes = [replace(node, ram=int(totals(whole).working_set.sum()) // 16) for node in NODES]
    tenth = part(whole, np.random.default_rng(3).random(len(whole.size)) < 0.1, 0.1)
    right = [
        (said[a] > said[b]) == (true[a] > true[b])
        for said, true in [tuple(throughputs(sample, nodes) for sample in (tenth, whole))]
        for a, b in combinations(range(len(true)), 2)
        if abs(true[a] / true[b] - 1) > 0.02
    ]
    assert len(right) > 20
    assert np.mean(right) > 0.95


def throughputs(sample: Sample, nodes: Sequence[Node]) -> list[float]:
    """Those of eight partitions by chance."""
    found = []
    for seed in range(8):
        node = np.random.default_rng(seed).integers(0, len(nodes), len(sample.sites))
        rows = PLACEMENT.from_columns(
            {"site": list(sample.sites), "node": [nodes[n].name for n in node]}
        )
        found.append(forecast(sample, rows, nodes, policy="after").throughput)
    return found


def test_of_a_site_that_the_sample_has_nothing_of_each_target_is_missed_once(whole: Sample) -> None:
    alone = PLACEMENT.from_columns({"site": [whole.sites[7]], "node": ["n0"]})
    sample = part(whole, whole.site != 7, 0.99)
    (node, *_) = forecast(sample, alone, NODES, policy="after").nodes
    (true, *_) = forecast(whole, alone, NODES, policy="after").nodes
    assert (node.requests, node.misses, node.disk_bytes) == (
        true.requests,
        true.misses,
        true.disk_bytes,
    )
    every = totals(whole)
    assert true.misses == every.targets[every.site == 7].sum()


def test_a_site_on_several_nodes_is_asked_for_on_each(whole: Sample) -> None:
    rows = PLACEMENT.from_columns({"site": [whole.sites[0]] * 3, "node": ["n0", "n1", "n2"]})
    chosen = np.random.default_rng(1).random(len(whole.size)) < 0.25
    said = forecast(part(whole, chosen, 0.25), rows, NODES, policy="after")
    true = forecast(whole, rows, NODES, policy="after")
    asked = ([node.requests for node in each.nodes[:3]] for each in (said, true))
    assert next(asked) == pytest.approx(next(asked), rel=0.1)
    assert max(points(said, true)) < 4
    assert said.left_out == true.left_out


@pytest.mark.parametrize(
    ("rate", "accesses", "said"), [(0.1, 99_999, True), (0.1, 100_000, False), (1.0, 5, False)]
)
def test_a_part_that_is_too_small_to_tell_misses_says_so(
    whole: Sample, rate: float, accesses: int, said: bool
) -> None:
    small = replace(whole, rate=rate, target=whole.target[:accesses], time=whole.time[:accesses])
    assert bool(list(remarks_on_forecasts.remark_on_sample(small))) == said


def test_a_large_file_that_the_sample_leaves_out_is_read_from_disk_as_often_as_it_is_asked_for(
    whole: Sample,
) -> None:
    """It does not fit into the memory of its node, and is most of what that sends."""
    large = whole.size.argmax()
    asked_often = np.where(np.arange(len(whole.target)) % 10 == 0, large, whole.target)
    heavy = replace(whole, target=asked_often)
    nodes = [replace(node, ram=int(whole.size[large]) // 4) for node in NODES]
    said = placed(part(heavy, np.arange(len(whole.size)) != large, 0.999), nodes)
    true = placed(heavy, nodes)
    assert max(points(said, true)) < 1
    assert [node.disk_bytes for node in said.nodes] == pytest.approx(
        [node.disk_bytes for node in true.nodes], rel=0.02
    )


@pytest.mark.slow
@pytest.mark.parametrize("serving", [placed, round_robin], ids=["by site", "everywhere"])
def test_what_is_read_from_disk_hangs_less_on_which_large_files_the_sample_has(
    whole: Sample, serving: Callable[..., Forecast]
) -> None:
    """A quarter of the targets, and memory that is much too small."""
    nodes = [replace(node, ram=int(totals(whole).working_set.sum()) // 32) for node in NODES]

    def read(sample: Sample) -> int:
        return sum(node.disk_bytes for node in serving(sample, nodes=nodes).nodes)

    near, far = [], []
    for seed in range(8):
        sample = part(whole, np.random.default_rng(seed).random(len(whole.size)) < 0.25, 0.25)
        near.append(abs(read(sample) / read(whole) - 1))
        far.append(abs(read(replace(sample, totals=None)) / read(whole) - 1))
    assert np.mean(near) < 0.2
    assert np.mean(near) < np.mean(far) / 2

"""What each node will have to do, before it happens."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import date

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from flex.errors import BadInput, BadTable
from flex.frame_schemas import PLACEMENT
from flex.model.nodes import Node, NodeState
from flex.model.predicted_node_loads import Forecast, NodeForecast
from flex.prediction.cache_replay import Sample
from flex.prediction.replay_forecast import (
    PAPER,
    busiest_utilisation,
    forecast,
    operations,
    round_robin,
    route,
    throughput,
    utilisation,
)
from flex.sim import made_up_cluster

MIB = 2**20


def _node(name: str, ram: int = 1000, state: NodeState = "active", capacity: float = 1.0) -> Node:
    return Node(name, ("192.0.2.1",), ram, capacity, state)


def _placement(*rows: str) -> pd.DataFrame:
    """`a n1` means that n1 serves a."""
    sites, nodes = zip(*(row.split() for row in rows), strict=True) if rows else ((), ())
    return PLACEMENT.from_columns({"site": list(sites), "node": list(nodes)})


def _sample(accesses: Sequence[str], *, size: int = 10, rate: float = 1.0) -> Sample:
    """`a/x` is an access to target x of site a; accesses come one a second."""
    targets = sorted(set(accesses))
    sites = tuple(sorted({target.split("/")[0] for target in targets}))
    return Sample(
        sites=sites,
        site=np.array([sites.index(target.split("/")[0]) for target in targets], dtype=np.int64),
        size=np.full(len(targets), size, dtype=np.int64),
        target=np.array([targets.index(access) for access in accesses], dtype=np.int64),
        time=np.arange(len(accesses), dtype=np.int64),
        rate=rate,
    )


def _per_node(predicted: Forecast) -> dict[str, tuple[int, int, int, int]]:
    return {
        node.node: (node.requests, node.misses, node.bytes, node.disk_bytes)
        for node in predicted.nodes
    }


def test_each_site_asks_the_node_that_serves_it() -> None:
    predicted = forecast(
        _sample(["a/x", "a/y", "a/x", "b/x"]),
        _placement("a n1", "b n2"),
        [_node("n1"), _node("n2")],
        policy="after",
    )
    assert predicted.policy == "after"
    assert _per_node(predicted) == {"n1": (3, 2, 30, 20), "n2": (1, 1, 10, 10)}
    assert predicted.miss_ratio == 0.75


def test_a_replicated_site_is_split_about_evenly_and_the_same_each_time() -> None:
    sample, nodes = (_sample(["a/x"] * 3000), [_node(name) for name in ("n1", "n2", "n3")])
    placement = _placement("a n1", "a n2", "a n3")
    predicted = forecast(sample, placement, nodes, policy="after")
    assert all(900 < node.requests < 1100 for node in predicted.nodes)
    assert forecast(sample, placement, nodes, policy="after") == predicted


def test_replicas_are_drawn_by_splitmix64_on_every_machine() -> None:
    # The published first outputs of its seed 0 are e220a8397b1dcdaf, 6e789e6aa1b965f4 and
    # 06c45d188009454f.
    split = route(("a",), np.zeros(3, dtype=np.int64), _placement("a n1", "a n2"), ("n1", "n2"))
    assert split.tolist() == [
        0xE220A8397B1DCDAF % 2,
        0x6E789E6AA1B965F4 % 2,
        0x06C45D188009454F % 2,
    ]


def test_neighbouring_accesses_of_a_replicated_site_do_not_take_turns() -> None:
    """A split in turn would hide what random splits do to a cache: two accesses to each target, two
    nodes.
    """
    accesses = [f"a/{target:04}" for target in range(1000) for _ in range(2)]
    predicted = forecast(
        _sample(accesses),
        _placement("a n1", "a n2"),
        [_node("n1", 10**6), _node("n2", 10**6)],
        policy="after",
    )
    assert 1400 < sum(node.misses for node in predicted.nodes) < 1600


def test_accesses_to_sites_without_a_node_are_left_out_and_counted() -> None:
    predicted = forecast(
        _sample(["a/x", "b/x", "c/x"]), _placement("a n1", "c gone"), [_node("n1")], policy="after"
    )
    assert _per_node(predicted) == {"n1": (1, 1, 10, 10)}
    assert predicted.left_out == 2


def test_a_node_out_of_service_still_gets_what_a_placement_sends_it() -> None:
    predicted = forecast(
        _sample(["a/x"]), _placement("a n1"), [_node("n1", state="draining")], policy="before"
    )
    assert _per_node(predicted) == {"n1": (1, 1, 10, 10)}


def test_round_robin_sends_each_access_to_the_next_active_node() -> None:
    nodes = [_node("n1"), _node("n2", state="down"), _node("n3"), _node("n4", state="draining")]
    predicted = round_robin(_sample(["a/x", "a/x", "a/x", "a/y", "b/x"]), nodes)
    assert _per_node(predicted) == {
        "n1": (3, 2, 30, 20),
        "n2": (0, 0, 0, 0),
        "n3": (2, 2, 20, 20),
        "n4": (0, 0, 0, 0),
    }


def test_round_robin_without_an_active_node_leaves_everything_out() -> None:
    predicted = round_robin(_sample(["a/x", "a/x"]), [_node("n1", state="down")])
    assert _per_node(predicted) == {"n1": (0, 0, 0, 0)}
    assert predicted.left_out == 2
    assert round_robin(_sample(["a/x"]), []).nodes == ()


def test_no_access_is_no_load_and_no_miss() -> None:
    for predicted in (
        forecast(_sample([]), _placement(), [_node("n1")], policy="after"),
        forecast(_sample([]), _placement("a n1"), [_node("n1")], policy="after"),
        round_robin(_sample([]), [_node("n1")]),
    ):
        assert _per_node(predicted) == {"n1": (0, 0, 0, 0)}
        assert predicted.miss_ratio == 0
        assert throughput(predicted) == 0


def test_empty_targets_are_missed_once_and_weigh_nothing() -> None:
    predicted = forecast(
        _sample(["a/x", "a/x"], size=0), _placement("a n1"), [_node("n1", ram=0)], policy="after"
    )
    assert _per_node(predicted) == {"n1": (2, 1, 0, 0)}
    assert throughput(predicted) == 0


def test_a_target_larger_than_the_memory_is_read_from_disk_each_time() -> None:
    predicted = forecast(
        _sample(["a/x"] * 4, size=1001), _placement("a n1"), [_node("n1", ram=1000)], policy="after"
    )
    assert _per_node(predicted) == {"n1": (4, 4, 4004, 4004)}


@pytest.mark.parametrize("ram", [2**62, 2**63, 2**70, 10**400])
def test_more_memory_than_a_machine_can_count_holds_everything(ram: int) -> None:
    predicted = forecast(
        _sample(["a/x", "a/y", "a/x", "a/y"]),
        _placement("a n1"),
        [_node("n1", ram)],
        policy="after",
    )
    assert _per_node(predicted) == {"n1": (4, 2, 40, 20)}


def test_a_sample_is_replayed_in_its_share_of_the_memory_and_scaled_back() -> None:
    accesses = ["a/x", "a/y", "a/x", "a/y"]
    room_for_two, room_for_one = [_node("n1", ram=40)], [_node("n1", ram=38)]
    sample = _sample(accesses, rate=0.5)
    assert _per_node(forecast(sample, _placement("a n1"), room_for_two, policy="after")) == {
        "n1": (8, 4, 80, 40)
    }
    assert _per_node(forecast(sample, _placement("a n1"), room_for_one, policy="after")) == {
        "n1": (8, 8, 80, 80)
    }
    assert round_robin(sample, room_for_two).sampling == 0.5
    assert forecast(sample, _placement(), room_for_two, policy="after").left_out == 8


@pytest.mark.parametrize("rate", [0.0, -1.0, 1.5, float("nan")])
def test_a_sample_that_does_not_know_its_share_is_refused(rate: float) -> None:
    with pytest.raises(BadInput, match="rate"):
        round_robin(_sample(["a/x"], rate=rate), [_node("n1")])


def test_a_table_that_is_no_placement_is_refused() -> None:
    with pytest.raises(BadTable):
        forecast(_sample(["a/x"]), pd.DataFrame({"site": ["a"]}), [_node("n1")], policy="after")


_NAMES = st.sampled_from(["n1", "n2", "n3", "elsewhere"])
_ROWS = st.sets(st.builds(lambda site, node: f"{site} {node}", st.sampled_from("abc"), _NAMES))
_ACCESSES = st.lists(
    st.builds(lambda site, target: f"{site}/{target}", st.sampled_from("abcd"), st.integers(0, 5))
)


@pytest.mark.slow
@given(_ACCESSES, _ROWS, st.permutations(["n1", "n2", "n3"]))
def test_every_access_is_served_once_or_left_out_whatever_the_order_of_the_nodes(
    accesses: list[str], rows: set[str], order: list[str]
) -> None:
    sample, placement = _sample(accesses), _placement(*rows)
    predicted = forecast(sample, placement, [_node(name, 25) for name in order], policy="after")
    assert sum(node.requests for node in predicted.nodes) + predicted.left_out == len(accesses)
    in_order = forecast(
        sample, placement, [_node(name, 25) for name in sorted(order)], policy="after"
    )
    assert _per_node(in_order) == _per_node(predicted)


def test_how_busy_a_node_is_on_the_mean_and_in_its_busiest_hour() -> None:
    """Six answers from memory and two from disk, three quarters of them in one hour of two."""
    size = round(PAPER.answer)
    sample = replace(
        _sample(["a/x", "a/y"] * 4, size=size),
        time=np.array([0, 1, 3600, 3601, 3602, 3603, 3604, 3605]),
    )
    (node,) = forecast(
        sample, _placement("a n1"), [_node("n1", 10 * size, capacity=2.0)], policy="after"
    ).nodes
    assert node.seconds == pytest.approx((6 + 2 * 10) / 1000 / 2, rel=1e-3)
    assert operations(node) == pytest.approx(8 / node.seconds)
    assert node.busiest == 0.75
    assert utilisation(node, 7200) == pytest.approx(node.seconds / 7200)
    assert busiest_utilisation(node) == pytest.approx(0.75 * node.seconds / 3600)


def test_a_clock_that_is_years_off_takes_no_more_room() -> None:
    sample = replace(_sample(["a/x"] * 3), time=np.array([0, 2**31, 2**40]))
    (node,) = forecast(sample, _placement("a n1"), [_node("n1")], policy="after").nodes
    assert node.busiest == pytest.approx(1 / 3)


def _load(name: str, answers: int, from_disk: int = 0) -> NodeForecast:
    """Answers of the size that the paper measured with."""
    size = 14950
    return NodeForecast(name, answers, from_disk, answers * size, from_disk * size)


def _throughput(*loads: NodeForecast, nodes: Sequence[Node] = ()) -> float:
    return throughput(Forecast("after", 1.0, loads), nodes)


def test_a_node_serves_a_thousand_answers_a_second_from_memory_and_a_hundred_from_disk() -> None:
    assert _throughput(_load("n1", 5000)) == pytest.approx(1000, rel=1e-4)
    assert _throughput(_load("n1", 5000, from_disk=5000)) == pytest.approx(100, rel=1e-4)
    assert _throughput(_load("n1", 1000, from_disk=100)) == pytest.approx(1000 / 1.9, rel=1e-4)
    assert PAPER.disk_penalty == 10


def test_the_busiest_node_limits_the_cluster() -> None:
    assert _throughput(_load("n1", 500), _load("n2", 500)) == pytest.approx(2000, rel=1e-4)
    assert _throughput(_load("n1", 750), _load("n2", 250)) == pytest.approx(1000 / 0.75, rel=1e-4)


def test_a_node_of_twice_the_capacity_works_half_as_long() -> None:
    nodes = [_node("n1", capacity=2.0)]
    assert _throughput(_load("n1", 1000), _load("n2", 500), nodes=nodes) == pytest.approx(
        3000, rel=1e-4
    )


@pytest.fixture(scope="module")
def demo() -> tuple[made_up_cluster.Hosting, Sample]:
    rng = np.random.default_rng(1)
    hosting = made_up_cluster.hosting(rng, "hosting.example")
    return hosting, made_up_cluster.sample(
        hosting, made_up_cluster.night(hosting, date(2026, 1, 5), 75_000, rng)
    )


def _partition(hosting: made_up_cluster.Hosting, nodes: Sequence[Node]) -> pd.DataFrame:
    """The sites by popularity, dealt like cards: the crudest partition there is."""
    by_weight = np.argsort(-hosting.weight)
    dealt = [nodes[position % len(nodes)].name for position in range(len(by_weight))]
    return PLACEMENT.from_columns(
        {"site": [hosting.sites[site] for site in by_weight], "node": dealt}
    )


def test_even_a_crude_partition_misses_far_less_than_round_robin_where_memory_is_scarce(
    demo: tuple[made_up_cluster.Hosting, Sample],
) -> None:
    hosting, sample = demo
    nodes = [_node(f"n{i}", 48 * MIB) for i in range(4)]
    partition = forecast(sample, _partition(hosting, nodes), nodes, policy="partition")
    in_turn = round_robin(sample, nodes)
    assert partition.miss_ratio == pytest.approx(0.07, abs=0.01)
    assert in_turn.miss_ratio == pytest.approx(0.28, abs=0.01)
    assert throughput(partition) > 1.5 * throughput(in_turn)
    assert sum(node.requests for node in partition.nodes) == len(sample.target)


def test_where_one_node_holds_everything_nothing_is_gained_but_the_first_reading(
    demo: tuple[made_up_cluster.Hosting, Sample],
) -> None:
    hosting, sample = demo
    nodes = [_node(f"n{i}", 1024 * MIB) for i in range(4)]
    partition = forecast(sample, _partition(hosting, nodes), nodes, policy="partition")
    assert sum(node.misses for node in partition.nodes) == len(np.unique(sample.target))


def test_a_quarter_of_the_targets_foretells_the_whole_within_a_few_points() -> None:
    rng = np.random.default_rng(2)
    hosting = made_up_cluster.hosting(
        rng, "hosting.example", made_up_cluster.Shape(files_per_site=200)
    )
    sample = made_up_cluster.sample(
        hosting, made_up_cluster.night(hosting, date(2026, 1, 5), 200_000, rng)
    )
    nodes = [_node(f"n{i}", 96 * MIB) for i in range(4)]
    placement = _partition(hosting, nodes)
    whole = np.array(
        [
            forecast(sample, placement, nodes, policy="flex").miss_ratio,
            round_robin(sample, nodes).miss_ratio,
        ]
    )
    quarter = rng.permutation(len(sample.size)) % 4
    guesses = []
    for part in range(4):
        kept = quarter[sample.target] == part
        small = replace(sample, target=sample.target[kept], time=sample.time[kept], rate=0.25)
        guesses.append(
            [
                forecast(small, placement, nodes, policy="flex").miss_ratio,
                round_robin(small, nodes).miss_ratio,
            ]
        )
    assert np.abs(np.array(guesses) - whole).max() < 0.05
    assert np.abs(np.mean(guesses, axis=0) - whole).max() < 0.01

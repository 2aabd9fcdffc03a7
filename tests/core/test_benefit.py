"""Whether FLEX helps, and why not: each reason where taking it away changes the answer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flex.frame_schemas import PLACEMENT
from flex.model.nodes import Node, NodeState
from flex.model.period import Period
from flex.model.predicted_node_loads import HARDLY_BUSY, Benefit, Forecast
from flex.prediction import benefit, replay_forecast
from flex.prediction.cache_replay import Sample
from flex.prediction.target_classes import kinds
from flex_api.facts import forecast_rows
from tests.thorough import times

# Bytes of each file.
SIZE = 10_000


def nodes_of(*capacities: float, files: float = 100, state: NodeState = "active") -> list[Node]:
    """With room for so many files each; the last one is in that state."""
    made = [
        Node(f"n{number}", (), round(files * SIZE), capacity)
        for number, capacity in enumerate(capacities, 1)
    ]
    return [*made[:-1], replace(made[-1], state=state)]


@dataclass(frozen=True)
class Cluster:
    """Each site has so many files, and all are asked for in turn, `rounds` times, a
    thousand in a second. Site i is on node i, or on `where` it is said to be.
    """

    files: Mapping[str, int]
    nodes: Sequence[Node]
    rounds: int = 10
    where: Mapping[str, Sequence[str]] = field(default_factory=dict)
    enough: bool = True
    passed_on: int = 0

    def sample(self) -> Sample:
        sites = tuple(self.files)
        site = np.repeat(np.arange(len(sites)), list(self.files.values()))
        rng = np.random.default_rng(1)
        target = np.concatenate([rng.permutation(len(site)) for _ in range(self.rounds)])
        time = np.arange(len(target)) // 1000
        return Sample(sites, site, np.full(len(site), SIZE), target, time, 1.0)

    def partition(self) -> pd.DataFrame:
        rows = [
            (site, node)
            for number, site in enumerate(self.files)
            for node in self.where.get(site) or [self.nodes[number].name]
        ]
        return PLACEMENT.make(pd.DataFrame(rows, columns=["site", "node"]))

    def predicted(self, sample: Sample, partition: pd.DataFrame) -> Forecast:
        """Each door passes on so many requests."""
        made = replay_forecast.forecast(sample, partition, self.nodes, policy=benefit.AFTER)
        passed = np.full(len(self.nodes), self.passed_on)
        return replay_forecast.add_forwarding(made, self.nodes, passed, passed)

    def forecasts(self) -> Iterator[Forecast]:
        sample, sites = self.sample(), list(self.files)
        after = self.predicted(sample, self.partition())
        yield after
        yield replay_forecast.round_robin(sample, self.nodes, sites=sites)
        yield benefit.best(sample, sites, self.nodes, after)

    def judged(self, *more: Forecast) -> Benefit:
        found = benefit.judge(
            (*self.forecasts(), *more),
            self.sample(),
            self.partition(),
            self.nodes,
            self.predicted,
            enough=self.enough,
        )
        assert found
        return found


FOUR = {"a.example": 90, "b.example": 90, "c.example": 90, "d.example": 90}
HELPED = Cluster(FOUR, nodes_of(1, 1, 1, 1))
TOO_MUCH = {"a.example": 4000, "b.example": 90, "c.example": 90, "d.example": 90}
EVERYWHERE = ("n1", "n2", "n3", "n4")


def test_it_helps_where_each_node_has_room_for_its_own_sites_alone() -> None:
    found = HELPED.judged()
    assert found.verdict == "helps"
    assert found.files_bytes == 360 * SIZE
    assert found.least_ram == 100 * SIZE


@pytest.mark.parametrize(
    ("hindered", "why"),
    [
        (replace(HELPED, nodes=nodes_of(1, 1, 1, 1, files=360)), "fits"),
        (
            Cluster({"a.example": 90, "b.example": 90}, nodes_of(1), where={
                "a.example": ["n1"], "b.example": ["n1"]
            }),
            "one node",
        ),
        (replace(HELPED, enough=False), "unknown"),
        (
            replace(
                HELPED,
                files=TOO_MUCH,
                where={"a.example": EVERYWHERE},
            ),
            "one site",
        ),
        (
            replace(HELPED, where=dict.fromkeys(FOUR, EVERYWHERE)),
            "not found",
        ),
        (replace(HELPED, rounds=1), "nothing to gain"),
        # Neither is the reason here, though a site is most of the traffic.
        (
            replace(
                HELPED, files=TOO_MUCH, where={"a.example": EVERYWHERE}, rounds=1
            ),
            "nothing to gain",
        ),
        (
            Cluster({"a.example": 270, "b.example": 90}, nodes_of(3, 1, files=400)),
            "helps",
        ),
    ],
    ids=lambda one: one if isinstance(one, str) else "",
)  # fmt: skip
def test_a_reason_is_given_for_what_keeps_it_from_helping(hindered: Cluster, why: str) -> None:
    assert hindered.judged().verdict == why


def test_all_files_fit_only_where_the_smallest_node_has_room_for_them() -> None:
    just = replace(HELPED, nodes=nodes_of(1, 1, 1, 1, files=360)).judged()
    assert just.files_bytes == just.least_ram
    short = replace(HELPED, nodes=[*nodes_of(1, 1, 1, files=360), HELPED.nodes[3]])
    assert short.judged().verdict == "helps"


def test_a_node_that_takes_no_sites_is_no_memory_to_count() -> None:
    """One of two leaves one; the smallest that is up is what counts."""
    down = nodes_of(1, 1, files=360, state="down")
    there = {"a.example": ["n1"], "b.example": ["n1"]}
    two = Cluster({"a.example": 90, "b.example": 90}, down, where=there)
    assert two.judged().verdict == "one node"
    small = replace(nodes_of(1, 1, 1, 1, state="down")[3], ram=SIZE)
    nodes = [*nodes_of(1, 1, 1, files=360), small]
    three = Cluster({name: FOUR[name] for name in list(FOUR)[:3]}, nodes)
    assert three.judged().least_ram == 360 * SIZE
    best = next(one for one in three.forecasts() if one.policy == "best")
    assert best.throughput <= 3 * 1000 * replay_forecast.PAPER.answer / SIZE


def test_it_helps_nodes_of_unequal_speed_though_all_files_fit() -> None:
    """Round robin gives a slow node as much to do as a fast one."""
    nodes = nodes_of(3, 1, files=400)
    sites = {"a.example": 270, "b.example": 90}
    assert Cluster(sites, nodes).judged().verdict == "helps"
    alike = Cluster({"a.example": 180, "b.example": 180}, nodes_of(1, 1, files=400))
    assert alike.judged().verdict == "fits"


def test_nodes_that_are_hardly_busy_gain_nothing_from_speed_alone() -> None:
    """With fewer reads from disk visitors gain even there."""
    sites = {"a.example": 270, "b.example": 90}
    quiet = Cluster(sites, nodes_of(3, 1, files=400), rounds=200)
    found = quiet.judged()
    assert found.busiest < HARDLY_BUSY
    assert found.verdict == "hardly busy"
    busy = replace(quiet, nodes=nodes_of(0.03, 0.01, files=400)).judged()
    assert busy.busiest > HARDLY_BUSY
    assert busy.verdict == "helps"
    assert HELPED.judged().busiest < HARDLY_BUSY


def test_a_partition_that_one_from_scratch_is_better_than_does_not_help_yet() -> None:
    spread = replace(HELPED, where=dict.fromkeys(FOUR, EVERYWHERE))
    scratch = replace(next(iter(HELPED.forecasts())), policy=benefit.FROM_SCRATCH)
    assert spread.judged(scratch).verdict == "not yet"
    assert HELPED.judged(scratch).verdict == "helps"


def test_the_site_that_is_too_much_is_named_with_its_share() -> None:
    found = replace(HELPED, files=TOO_MUCH, where={"a.example": EVERYWHERE}).judged()
    assert found.site == "a.example"
    assert found.site_share == pytest.approx(4000 / 4270)


def test_a_heavy_site_is_no_reason_where_the_others_gain_nothing_either() -> None:
    """All of them are asked for once."""
    found = replace(HELPED, files=TOO_MUCH, where={"a.example": EVERYWHERE}, rounds=1).judged()
    assert (found.verdict, found.site) == ("nothing to gain", "")


def test_nothing_is_judged_where_nothing_is_predicted() -> None:
    sample = HELPED.sample()
    assert not benefit.judge((), sample, HELPED.partition(), HELPED.nodes, HELPED.predicted)
    silent = replace(sample, target=sample.target[:0], time=sample.time[:0])
    none = [
        replay_forecast.forecast(silent, HELPED.partition(), HELPED.nodes, policy="after"),
        replay_forecast.round_robin(silent, HELPED.nodes),
    ]
    assert not benefit.judge(none, silent, HELPED.partition(), HELPED.nodes, HELPED.predicted)


def test_a_sample_counts_all_files_that_it_stands_for() -> None:
    """By what is known of all of them, or else by its rate; of sites in the partition alone."""
    whole, part = HELPED.sample(), HELPED.partition()
    times = np.bincount(whole.target)
    totals = kinds(whole.site, times, whole.size)
    for sample, files in (
        (replace(whole, rate=0.5), 720),
        (replace(whole, rate=0.5, totals=totals), 360),
    ):
        judged = benefit.judge(HELPED.forecasts(), sample, part, HELPED.nodes, HELPED.predicted)
        assert judged
        assert judged.files_bytes == files * SIZE
    fewer = part[part["site"] != "a.example"]
    judged = benefit.judge(HELPED.forecasts(), whole, fewer, HELPED.nodes, HELPED.predicted)
    assert judged
    assert judged.files_bytes == 270 * SIZE


def test_parts_of_sites_are_no_sites() -> None:
    """They are not counted a second time, and none is named for all that it sends."""
    heavy = replace(HELPED, files=TOO_MUCH, where={"a.example": EVERYWHERE})
    for parts, verdict, files in (((), "one site", 4270), (("a.example",), "nothing to gain", 270)):
        found = benefit.judge(
            heavy.forecasts(),
            heavy.sample(),
            heavy.partition(),
            heavy.nodes,
            heavy.predicted,
            parts=parts,
        )
        assert found
        assert (found.verdict, found.files_bytes) == (verdict, files * SIZE)


def test_what_doors_pass_on_is_the_reason_where_it_would_help_without() -> None:
    """Even where one site is heavy: the others pass it on all the same."""
    heavy = replace(HELPED, files=TOO_MUCH, where={"a.example": EVERYWHERE})
    assert heavy.judged().verdict == "one site"
    assert replace(heavy, passed_on=10**7).judged().verdict != "one site"
    assert replace(HELPED, passed_on=10**7).judged().verdict == "passed on"
    assert replace(HELPED, passed_on=10).judged().verdict == "helps"


def test_what_is_best_passes_nothing_on() -> None:
    made = {one.policy: one for one in replace(HELPED, passed_on=10).forecasts()}
    after = made["after"]
    better = replace(after, throughput=after.throughput * 100)
    best = benefit.best(HELPED.sample(), list(FOUR), HELPED.nodes, better)
    assert best.throughput == better.throughput
    assert not any(one.passed_on for one in best.nodes)


def test_nothing_is_said_of_forecasts_that_are_not_there() -> None:
    assert not forecast_rows.benefit_row(Benefit("helps"), [])


@settings(max_examples=times(25))
@given(
    st.lists(st.integers(1, 60), min_size=2, max_size=4), st.integers(1, 6), st.integers(10, 200)
)
def test_what_is_said_agrees_with_the_figures(files: list[int], rounds: int, room: int) -> None:
    """No verdict stands beside figures that say otherwise, and all of it is in words."""
    nodes = nodes_of(*(1.0 for _ in files), files=room)
    sites = {f"{number}.example": count for number, count in enumerate(files)}
    cluster = Cluster(sites, nodes, rounds)
    found, made = cluster.judged(), {one.policy: one for one in cluster.forecasts()}
    after, in_turn, best = (made[name] for name in ("after", "round robin", "best"))
    assert best.throughput >= after.throughput
    assert (found.verdict == "fits") <= (sum(files) <= room)
    if found.verdict == "helps":
        assert after.throughput >= in_turn.throughput
    if found.verdict == "nothing to gain":
        assert best.throughput < 1.05 * in_turn.throughput
    if found.verdict == "one site":
        assert found.site_share * len(nodes) > 1
    begin = datetime(2026, 3, 1, tzinfo=UTC)
    period = Period(begin, begin + timedelta(days=1))
    rows = forecast_rows.rows(made.values(), period)
    row = forecast_rows.benefit_row(found, rows)
    assert row
    said, more = row.said, row.more
    assert said.startswith("FLEX helps:" if found.verdict == "helps" else ("FLEX ", "Whether "))
    assert said.endswith(".")
    assert more == "" or more.endswith(".")
    assert len(said) < 150

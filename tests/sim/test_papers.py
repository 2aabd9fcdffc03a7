"""The papers' experiments run, and say what they found."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from flex.sim.papers import EXPERIMENTS, MADE_UP
from flex.sim.papers.claim import (
    AS_PUBLISHED,
    BETTER,
    GOOD,
    OPEN,
    WORSE,
    Claim,
    at_least,
    at_most,
    because,
    grows,
    verdict,
)
from flex.sim.papers.experiment_lab import Lab
from flex.sim.published_trace_figures import PUBLISHED
from flex.sim.simulated_clusters import MIB, SimulatedCluster, flex
from flex.sim.traces import Trace

QUICK = {"hacc-static", "hacc-dynamic", "front-ends", "lard-disks", "cward-worldcup"}


def _place(asked: Trace, before: Trace, cluster: SimulatedCluster) -> Sequence[Sequence[int]]:
    return [[site % cluster.nodes] for site in range(len(asked.sites))]


@cache
def ran(name: str) -> tuple[list[Claim], int]:
    """On the beginning of its twins: its claims, and how many points it draws."""
    lab = Lab(_place, lambda _: None, most=2000)
    return EXPERIMENTS[name](lab), len(lab.points)


@pytest.mark.torture("lard-disks")
@pytest.mark.slow("lard-disks", "hacc-static", "hacc-dynamic")
@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[] if name in QUICK else [pytest.mark.torture])
        for name in EXPERIMENTS
    ],
)
def test_every_experiment_says_what_was_published_and_what_was_measured(name: str) -> None:
    claims, points = ran(name)
    assert claims
    for claim in claims:
        assert claim.published
        assert claim.measured
        assert claim.verdict in {*GOOD, WORSE, OPEN}
        assert claim.verdict in GOOD or claim.reason
        assert "nan" not in claim.measured
    assert points


@pytest.fixture(scope="module")
def real() -> Trace:
    """Three days of a dozen sites, with clients."""
    random = np.random.default_rng(8)
    target = random.zipf(1.3, 3000) % 400
    time = np.sort(random.integers(0, 3 * 86400, 3000))
    size = random.integers(0, 60_000, 400)
    return Trace(
        "a log", target, size, np.arange(400) % 12, tuple(f"s{n}" for n in range(12)),
        target % 50, time
    )  # fmt: skip


@pytest.mark.parametrize("name", [name for name in EXPERIMENTS if name not in MADE_UP])
def test_a_real_trace_stands_in_for_every_twin(name: str, real: Trace) -> None:
    lab = Lab(_place, lambda _: None, real=real)
    claims = EXPERIMENTS[name](lab)
    assert claims
    for claim in claims:
        passed = "behind Optimal" in claim.claim and claim.measured.startswith("-")
        told = {OPEN} if name.startswith("cward") or passed else {*GOOD, WORSE}
        assert claim.verdict in told, "who asked is known of a log, not what machines cost"
        assert "nan" not in claim.measured
        assert claim.verdict in GOOD or passed or "3,000 accesses" in claim.reason
        assert not claim.tried, "what a twin lacks is no question of a log"


def test_what_cannot_be_told_of_the_cward_paper_is_measured_and_shown_by_an_experiment() -> None:
    for claim in ran("cward-worldcup")[0]:
        assert claim.verdict == OPEN
        assert claim.times is not None
        assert claim.times[0][1] > 1
        assert [what.split(",")[0] for what, _ in claim.tried] == [
            "memories empty at first"
        ] * 3 + ["the trace served once before"]


def test_memory_is_the_same_part_of_a_real_working_set_as_of_the_papers(real: Trace) -> None:
    lab = Lab(_place, lambda _: None, real=real)
    trace = lab.twin("hp-july")
    whole = int(PUBLISHED["hp-july"].working_set * MIB)
    enough, less = (
        lab.aside(trace, flex(1, ram), "round_robin").miss_ratio
        for ram in (whole + MIB, whole // 8)
    )
    assert enough == pytest.approx(np.count_nonzero(real.frequency()) / 3000), (
        "all of it fits, so each file misses once"
    )
    assert less > enough


def test_of_a_real_trace_each_day_stands_for_a_day(real: Trace) -> None:
    lab = Lab(_place, lambda _: None, real=real)
    names = lab.days(("hp-day-1", "hp-day-2", "hp-day-3", "hp-day-4"))
    assert names == ("hp-day-1", "hp-day-2", "hp-day-3")
    parts = [lab.twin(name) for name in names]
    assert sum(len(part.target) for part in parts) == 3000
    assert all(part.time[-1] - part.time[0] < 86400 for part in parts)


@pytest.mark.slow
def test_what_a_claim_fails_by_is_put_to_the_test() -> None:
    for claim in ran("lard-disks")[0]:
        assert claim.verdict in GOOD or len(claim.tried) == 5


def test_reasons_go_to_what_does_not_come_out_and_to_nothing_else() -> None:
    claims = [
        replace(claim, reason="")
        for name in ("front-ends", "hacc-dynamic")
        for claim in ran(name)[0]
    ]
    assert {claim.verdict for claim in claims} == {AS_PUBLISHED, WORSE}
    for claim in because(claims, "so it is"):
        assert claim.reason == ("so it is" if claim.verdict == WORSE else "")
    assert (verdict(True), verdict(False)) == (AS_PUBLISHED, WORSE)


def test_a_range_is_met_passed_or_missed_on_the_side_that_is_better() -> None:
    assert [at_least(values, 0.5, 1.0) for values in ([0.5, 1.0], [0.6, 1.2], [0.4, 1.2])] == [
        AS_PUBLISHED,
        BETTER,
        WORSE,
    ]
    assert [at_most(values, 0.05, 0.18) for values in ([0.05, 0.18], [-0.1], [0.0, 0.2])] == [
        AS_PUBLISHED,
        BETTER,
        WORSE,
    ]


def test_what_stays_as_it_is_does_not_grow() -> None:
    assert grows([3.0, 4.1, 4.9, 5.3])
    assert not grows([1.0, 1.0, 1.0, 1.0])
    assert not grows([2.0, 2.0 + 1e-9, 2.0 + 2e-9])
    assert not grows([3.0, 4.1, 4.0])


@pytest.mark.slow
def test_a_twin_that_is_cut_short_tells_nothing() -> None:
    lab = Lab(_place, lambda _: None, most=10)
    assert {claim.verdict for claim in EXPERIMENTS["lard-disks"](lab)} == {OPEN}

"""Nothing is set by a figure that a claim is judged by, and verdicts say with what they hold."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from flex.sim import simulated_clusters as clusters
from flex.sim.engine_input_and_output import FRONT_END
from flex.sim.papers import EXPERIMENTS, calibration, judge
from flex.sim.papers.assumptions import (
    CALIBRATED,
    CALIBRATED_EXPERIMENTS,
    PLAIN,
    TRIED,
    Assumptions,
)
from flex.sim.papers.calibration import (
    APACHE_CACHED,
    HANDOFF_PEAK,
    INPUTS,
    USUAL,
    apache,
    calibrated_twin,
    handoff,
)
from flex.sim.papers.claim import HOLDS, HOLDS_FOR, MISSES, OPEN
from flex.sim.papers.claimed_figures import FIGURES
from flex.sim.papers.experiment_lab import Lab
from flex.sim.papers.published_points import RATE_AT_WORK, published_points
from flex.sim.published_trace_figures import PUBLISHED
from flex.sim.simulated_clusters import MIB, SECOND, SimulatedCluster
from flex.sim.trace_twins import fit
from flex.sim.traces import Trace


def _place(asked: Trace, before: Trace, cluster: SimulatedCluster) -> Sequence[Sequence[int]]:
    return [[site % cluster.nodes] for site in range(len(asked.sites))]


def _lab(assumed: Assumptions) -> Lab:
    return Lab(_place, lambda _: None, 1500, assumed=assumed, explains=False)


def test_no_figure_is_an_input_and_a_claim() -> None:
    inputs = [each.key for each in INPUTS]
    assert len(set(inputs)) == len(inputs), "each is used once"
    assert len(set(FIGURES.values())) == len(FIGURES), "each is judged by once"
    assert not set(inputs) & set(FIGURES.values())


def test_whatever_is_called_an_input_is_in_the_list_that_is_looked_through() -> None:
    made = {each.key for each in vars(calibration).values() if isinstance(each, calibration.Input)}
    assert made == {each.key for each in INPUTS}


@pytest.mark.slow
@pytest.mark.parametrize("name", ["front-ends", "hacc-dynamic", "lard-disks", "cward-worldcup"])
def test_each_claim_is_judged_by_a_figure_that_has_a_name(name: str) -> None:
    claims = EXPERIMENTS[name](_lab(CALIBRATED))
    assert {claim.claim for claim in claims} <= set(FIGURES)


def test_there_are_41_claims_and_each_experiment_says_what_is_tried() -> None:
    assert len(FIGURES) == 41
    assert set(TRIED) <= set(CALIBRATED_EXPERIMENTS) <= set(EXPERIMENTS)
    for tried in TRIED.values():
        words = [each.words for each in tried]
        assert all(words)
        assert len(set(words)) == len(words), "each can be told from the others"
        assert all(each.calibrated for each in tried)


@pytest.mark.slow
def test_a_claim_that_does_not_come_out_is_looked_at_under_each_value() -> None:
    """Front ends are the same whatever is cut short."""
    asked: list[Assumptions] = []

    def under(assumed: Assumptions) -> Lab:
        asked.append(assumed)
        return _lab(assumed)

    claims = judge("front-ends", _lab(CALIBRATED), under)
    assert asked[0] is PLAIN
    assert asked[1:] == list(TRIED["front-ends"])[: len(asked) - 1]
    plain = EXPERIMENTS["front-ends"](_lab(PLAIN))
    assert [claim.without for claim in claims] == [claim.measured for claim in plain]
    for claim in claims:
        assert claim.verdict in {HOLDS, HOLDS_FOR, MISSES, OPEN}
        assert bool(claim.values) == (claim.verdict == HOLDS_FOR)
        if claim.verdict == HOLDS_FOR:
            assert any(claim.values.endswith(each.words) for each in asked)
    if len(asked) <= len(TRIED["front-ends"]):
        assert all(claim.verdict != MISSES for claim in claims), "it stops when all hold"


def test_a_handing_front_end_comes_to_its_published_peak() -> None:
    front = handoff(1000)
    assert front.kind == FRONT_END
    assert SECOND / (front.connect + 6 * front.send) == pytest.approx(HANDOFF_PEAK.value, rel=0.001)


@pytest.mark.parametrize("kilobytes", [3, 6, 8])
def test_a_node_with_apache_serves_as_many_cached_answers_as_published(kilobytes: int) -> None:
    node = apache(1, 32 * MIB, kilobytes=kilobytes)
    took = node.connect + 2 * kilobytes * node.send + node.close
    assert SECOND / took == pytest.approx(APACHE_CACHED.value, rel=0.001)
    assert node.seek == clusters.lard(1).seek


@pytest.mark.slow
def test_a_calibrated_twin_has_every_figure_that_was_published() -> None:
    for name in ("hp-july", "clarknet"):
        published = PUBLISHED[name]
        trace = calibrated_twin(name, USUAL)
        assert trace.name == name
        # A site of few files is off by a file.
        assert all(row.error < 0.07 for row in fit(published, trace))


@pytest.mark.slow
def test_published_points_stand_at_so_many_times_what_the_other_policy_came_to() -> None:
    lab = Lab(_place, lambda _: None, 1500)
    trace, picture = lab.twin("hp-july"), "hp-july, 4 nodes"
    for ram in (16, 64, 128):
        cluster = clusters.flex(4, ram * MIB)
        lab.run(trace, cluster, "round_robin", picture=picture, x=ram)
    by_x = {point.x: point.result.per_server for point in lab.points}
    found = {point.x: point for point in published_points(lab.points)}
    assert set(found) == {64, 128}, "nothing is published of the smaller memories"
    for memory, point in found.items():
        assert point.what == RATE_AT_WORK
        assert point.low == pytest.approx(1.5 * by_x[memory])
        assert point.high == pytest.approx(2.0 * by_x[memory])
    assert published_points([]) == []

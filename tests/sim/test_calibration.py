"""Nothing is set by a figure that a claim is judged by, and verdicts say with what they hold."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from flex.sim import simulated_clusters as clusters
from flex.sim.engine_input_and_output import FRONT_END
from flex.sim.papers import EXPERIMENTS, calibration, judge
from flex.sim.papers.assumptions import (
    CALIBRATED,
    PLAIN,
    TRIED,
    Assumptions,
)
from flex.sim.papers.calibration import (
    APACHE_CACHED,
    APACHE_RICE,
    INPUTS,
    WRR_IS_FLAT,
    apache,
    calibrated_twin,
    handoff,
)
from flex.sim.papers.claim import AS_PUBLISHED, FOR_VALUES, GOOD, OPEN, WORSE, Claim
from flex.sim.papers.claimed_figures import FIGURES
from flex.sim.papers.experiment_lab import Lab
from flex.sim.papers.published_points import RATE_AT_WORK, published_points
from flex.sim.published_trace_figures import PUBLISHED
from flex.sim.simulate import simulate
from flex.sim.simulated_clusters import MIB, MICROSECOND, SECOND, SimulatedCluster
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
    both = set(inputs) & set(FIGURES.values())
    assert both == {WRR_IS_FLAT.key}, "what is an input is judged by nothing"


def test_a_claim_that_an_input_is_of_cannot_be_told(monkeypatch: pytest.MonkeyPatch) -> None:
    name = next(claim for claim, figure in FIGURES.items() if figure == WRR_IS_FLAT.key)
    flat, other = (Claim("LARD", each, "flat", "0 %", AS_PUBLISHED) for each in (name, "other"))
    monkeypatch.setitem(EXPERIMENTS, "lard-rice", lambda _: [flat, other])
    told = judge("lard-rice", _lab(CALIBRATED), _lab)
    assert [claim.verdict for claim in told] == [OPEN, AS_PUBLISHED]
    assert told[0].reason.startswith("an input: it says that memories are warm")


def test_whatever_is_called_an_input_is_in_the_list_that_is_looked_through() -> None:
    made = {each.key for each in vars(calibration).values() if isinstance(each, calibration.Input)}
    assert made == {each.key for each in INPUTS}


@pytest.mark.slow
@pytest.mark.parametrize("name", ["front-ends", "hacc-dynamic", "lard-disks", "cward-worldcup"])
def test_each_claim_is_judged_by_a_figure_that_has_a_name(name: str) -> None:
    claims = EXPERIMENTS[name](_lab(CALIBRATED))
    assert {claim.claim for claim in claims} <= set(FIGURES)


def test_there_are_49_claims_and_each_experiment_says_what_is_tried() -> None:
    assert len(FIGURES) == 49
    assert set(TRIED) <= set(EXPERIMENTS)
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
    assert asked[1:] == list(TRIED["front-ends"])
    plain = EXPERIMENTS["front-ends"](_lab(PLAIN))
    assert [claim.without for claim in claims] == [claim.measured for claim in plain]
    for claim in claims:
        assert claim.verdict in {*GOOD, FOR_VALUES, WORSE, OPEN}
        assert bool(claim.values) == (claim.verdict == FOR_VALUES)
        if claim.verdict == FOR_VALUES:
            assert any(claim.values.endswith(each.words) for each in asked)
        if claim.verdict in {FOR_VALUES, WORSE}:
            assert {words for words, _ in claim.tried} <= {each.words for each in asked[1:]}
    assert any(claim.tried for claim in claims), "some value changes something"


def test_a_front_end_hands_off_at_the_published_costs_and_comes_near_the_published_peak() -> None:
    """With 3 KB, as in the IBM trace; the peak sets nothing."""
    front = handoff(1578)
    assert front.kind == FRONT_END
    assert front.connect == (200 + 30 + 3 * 9) * MICROSECOND
    assert handoff(1578, 20).connect == (200 + 40 + 3 * 9) * MICROSECOND
    assert SECOND / (front.connect + 6 * front.send) == pytest.approx(3500, rel=0.1)


@pytest.mark.parametrize("kilobytes", [3, 6, 8])
def test_a_node_with_apache_serves_as_many_cached_answers_as_published(kilobytes: int) -> None:
    node = apache(1, 32 * MIB, kilobytes=kilobytes)
    took = node.connect + 2 * kilobytes * node.send + node.close
    assert SECOND / took == pytest.approx(APACHE_CACHED.value, rel=0.001)
    assert node.seek == clusters.lard(1).seek


@pytest.mark.slow
def test_a_node_with_apache_serves_rice_as_published() -> None:
    """With the middle of the 70 to 97 MB that its memory may be."""
    served = simulate(calibrated_twin("rice"), apache(1, 84 * MIB), "wrr", warm=True)
    assert served.throughput == pytest.approx(APACHE_RICE.value, rel=0.02)


@pytest.mark.slow
def test_a_calibrated_twin_has_every_figure_that_was_published() -> None:
    for name in ("hp-july", "clarknet"):
        published = PUBLISHED[name]
        trace = calibrated_twin(name)
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

"""The papers' experiments run, and say what they found."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from flex.sim.cluster import Cluster
from flex.sim.papers import EXPERIMENTS
from flex.sim.papers.claim import HOLDS, MISSES, OPEN, Lab, because, verdict
from flex.sim.traces import Trace

QUICK = {"hacc-static", "hacc-dynamic", "front-ends", "lard-disks", "cward-worldcup"}


def _place(asked: Trace, before: Trace, cluster: Cluster) -> Sequence[Sequence[int]]:
    return [[site % cluster.nodes] for site in range(len(asked.sites))]


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[] if name in QUICK else [pytest.mark.torture]) for name in EXPERIMENTS]
)
def test_every_experiment_says_what_was_published_and_what_was_measured(name: str) -> None:
    lab = Lab(_place, lambda _: None, most=2000)
    claims = EXPERIMENTS[name](lab)
    assert claims
    for claim in claims:
        assert claim.published
        assert claim.measured
        assert claim.verdict in {HOLDS, MISSES, OPEN}
        assert "nan" not in claim.measured
    assert lab.points


@pytest.mark.parametrize("name", sorted(QUICK))
def test_a_claim_that_does_not_come_out_says_why_or_shows_by_how_much(name: str) -> None:
    for claim in EXPERIMENTS[name](Lab(_place, lambda _: None, most=500)):
        assert claim.verdict != OPEN or claim.reason


def test_reasons_go_to_what_does_not_come_out_and_to_nothing_else() -> None:
    claims = EXPERIMENTS["front-ends"](Lab(_place, lambda _: None, most=500))
    for before, after in zip(claims, because(claims, "so it is"), strict=True):
        assert after.reason == (before.reason or ("so it is" if before.verdict == MISSES else ""))
    assert (verdict(True), verdict(False)) == (HOLDS, MISSES)

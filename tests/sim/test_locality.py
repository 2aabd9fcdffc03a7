"""The order of a twin's accesses, and that the order of a log can be told in four figures."""

from __future__ import annotations

from datetime import date

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from flex.sim import made_up_cluster
from flex.sim.fit_locality import MEMORY, fit_lives, fit_locality, miss_ratios
from flex.sim.locality import INDEPENDENT, Locality, reorder
from flex.sim.published_trace_figures import PUBLISHED
from flex.sim.trace_twins import fit, twin
from flex.sim.traces import Trace, trace_from_sample

# Every kind of order that the model has: independent, reloads, visits of a week, files that go
# out of fashion, and all of it.
KINDS = {
    "independent": INDEPENDENT,
    "reloads": Locality(0.6, 1e-4, 1.0, 1.0),
    "visits": Locality(0.8, 1e-2, 2.5, 1.0),
    "fashions": Locality(0.0, 1.0, 1.0, 0.1),
    "all of it": Locality(0.5, 1e-3, 2.3, 0.4),
}


def _zipf(seed: int = 3, accesses: int = 20_000, files: int = 1500) -> Trace:
    random = np.random.default_rng(seed)
    chance = 1.0 / np.arange(1, files + 1)
    target = random.choice(files, accesses, p=chance / chance.sum())
    size = random.lognormal(9, 1.3, files).astype(np.int64) + 1
    return Trace("zipf", target, size, np.zeros(files, dtype=np.int64), ("one",))


@given(
    st.lists(st.integers(0, 30), min_size=1, max_size=40),
    st.floats(0, 1),
    st.floats(1e-6, 1),
    st.floats(0.1, 5),
    st.floats(0.01, 1),
    st.integers(0, 99),
)
def test_the_order_changes_and_nothing_else(
    times: list[int], repeats: float, gap: float, spread: float, life: float, seed: int
) -> None:
    target = np.repeat(np.arange(len(times)), times)
    random = np.random.default_rng(seed)
    shuffled = random.permutation(target)
    size = random.integers(0, 1000, len(times))
    site = np.zeros(len(times), dtype=np.int64)
    before = Trace("t", shuffled, size, site, ("one",), client=shuffled * 100)
    after = reorder(before, Locality(repeats, gap, spread, life), seed=seed)
    assert after.frequency().tolist() == times
    assert after.client.tolist() == (after.target * 100).tolist(), "each keeps its client"
    assert after.size is before.size
    assert not len(after.time), "nobody knows when"
    again = reorder(before, Locality(repeats, gap, spread, life), seed=seed)
    assert again.target.tolist() == after.target.tolist()


def test_what_is_repeated_sooner_is_missed_less() -> None:
    trace, memory = _zipf(), (0.02, 0.1, 0.3)
    missed = [
        miss_ratios(reorder(trace, Locality(repeats, 1e-4)).target, trace.size, memory)
        for repeats in (0.0, 0.4, 0.8)
    ]
    assert all(a > b > c for a, b, c in zip(*missed, strict=True))


def test_a_file_with_a_life_is_asked_for_in_that_part_of_the_trace() -> None:
    """None is asked for much more than others: it would stretch the time that it is asked for."""
    target = np.random.default_rng(4).integers(0, 500, 20_000)
    flat = Trace("flat", target, target[:500] + 1, target[:500] * 0, ("one",))
    after = reorder(flat, Locality(life=0.1))
    for file in range(500):
        place = np.flatnonzero(after.target == file)
        # Around the end of the trace and on from its beginning.
        gap = np.diff(np.append(place, place[0] + len(after.target))).max()
        assert len(after.target) - gap < 0.15 * len(after.target)


def test_the_gap_is_the_one_that_was_asked_for() -> None:
    """Two accesses to each file, the second of which always follows the first."""
    target = np.repeat(np.arange(5000), 2)
    trace = Trace("two", target, np.ones(5000, dtype=np.int64), target[:5000] * 0, ("one",))
    after = reorder(trace, Locality(repeats=1.0, gap=0.01, spread=1.0))
    place = np.argsort(after.target, kind="stable").reshape(-1, 2)
    gap = np.abs(np.diff(place))[:, 0]
    gap = np.minimum(gap, len(target) - gap) / len(target)
    assert np.median(gap) == pytest.approx(0.01, rel=0.1)
    assert np.std(np.log(gap)) == pytest.approx(1.0, rel=0.1)


@pytest.mark.slow("independent", "reloads", "visits", "fashions")
@pytest.mark.parametrize("kind", KINDS)
def test_a_trace_of_the_model_is_told_by_the_model(kind: str) -> None:
    """Fitted to every second size of memory, and held against the others."""
    trace = reorder(_zipf(), KINDS[kind], seed=11)
    found = fit_locality(trace, memory=MEMORY[::2], held_out=MEMORY[1::2])
    assert found.memory == MEMORY[1::2]
    assert np.median(found.points_off) < 2
    assert max(found.points_off) < 4
    if kind != "independent":
        assert max(found.points_off) < 0.5 * max(found.points_off_independent)


@pytest.mark.slow
def test_a_night_of_the_made_up_cluster_is_told_by_the_model() -> None:
    random = np.random.default_rng(7)
    hosting = made_up_cluster.hosting(random, "hosting.example")
    asked = made_up_cluster.night(hosting, date(2026, 1, 5), 20_000, random)
    found = fit_locality(trace_from_sample("night", made_up_cluster.sample(hosting, asked)))
    assert np.median(found.points_off) < 2


@pytest.mark.slow
def test_locality_leaves_every_published_figure_of_a_twin_as_it_was() -> None:
    published = PUBLISHED["hp-july"]
    plain = twin(published)
    close = reorder(plain, KINDS["all of it"])
    assert fit(published, close) == fit(published, plain)
    assert miss_ratios(close.target, close.size, (0.1,)) < miss_ratios(
        plain.target, plain.size, (0.1,)
    )


@pytest.mark.slow("0.0-0.0", "0.8-0.5")
@pytest.mark.parametrize(("shorter", "fade"), [(0.0, 0.0), (0.5, 0.3), (0.8, 0.5)])
def test_how_much_shorter_rare_files_live_is_found_again(shorter: float, fade: float) -> None:
    trace = _zipf(accesses=60_000, files=6000)
    after = reorder(trace, Locality(shorter=shorter, fade=fade))
    found, faded = fit_lives(after)
    assert found == pytest.approx(shorter, abs=0.1)
    assert faded == pytest.approx(fade, abs=0.11) or not shorter


def test_what_is_asked_for_more_lives_longer() -> None:
    lives = Locality(life=0.8, shorter=0.5, fade=0.3).lives(np.array([0, 1, 2, 8, 4000]))
    assert lives[:3].tolist() == [0.4, 0.4, 0.4]
    assert 0.4 < lives[3] < lives[4] < 0.8

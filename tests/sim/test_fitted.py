"""Twins have what was published of their traces, and the same seed makes the same twin."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from flex.sim.published_trace_figures import PUBLISHED
from flex.sim.trace_twins import fit, twin

SLOW = {"hp-day-1", "hp-day-2", "hp-day-3", "hp-day-4"}
TWINS = [
    pytest.param(name, marks=[pytest.mark.torture] if name in SLOW else []) for name in PUBLISHED
]


@pytest.mark.slow("hp-june", "rice", "ibm", "hp-may", "hp-april")
@pytest.mark.parametrize("name", TWINS)
def test_every_published_aggregate_is_within_a_twentieth(name: str) -> None:
    rows = fit(PUBLISHED[name], twin(PUBLISHED[name]))
    assert {row.figure: row.error for row in rows if row.error > 0.05 and not row.assumed} == {}


@pytest.mark.slow
def test_what_is_not_published_may_differ_and_published_aggregates_are_still_there() -> None:
    usual, other = (twin(PUBLISHED["rice"]), twin(PUBLISHED["rice"], second=0.0015, spread=0.6))
    assert max(row.error for row in fit(PUBLISHED["rice"], other)) < 0.01
    first, second = other.frequency()[:2] / len(other.target)
    assert (first, second) == (pytest.approx(0.02, rel=0.01), pytest.approx(0.0015, rel=0.01))
    assert np.log(other.size).std() < np.log(usual.size).std()


@pytest.mark.slow
def test_what_is_assumed_is_marked() -> None:
    assert {
        row.figure for row in fit(PUBLISHED["rice"], twin(PUBLISHED["rice"])) if row.assumed
    } == {"requests", "answer"}


def test_a_seed_makes_the_same_twin_again_and_another_seed_another() -> None:
    once, again, other = (twin(PUBLISHED["worldcup98"], seed=seed) for seed in (1, 1, 2))
    assert np.array_equal(once.target, again.target)
    assert np.array_equal(once.size, again.size)
    assert not np.array_equal(once.target, other.target)


@pytest.mark.slow
def test_days_of_one_server_have_the_same_sites() -> None:
    """Also those that nobody named, but for how large the few files of a small site happen to
    be.
    """
    few = replace(PUBLISHED["hp-day-1"], requests=300_000, files=20_000)
    days = [twin(day) for day in (few, replace(few, files=18_000))]
    asked, held = (
        [
            np.bincount(day.site, weights, len(day.sites)) / weights.sum()
            for day, weights in zip(days, columns, strict=True)
        ]
        for columns in ([day.size * day.frequency() for day in days], [day.size for day in days])
    )
    unnamed = [
        number for number, site in enumerate(days[0].sites) if int(site[5:]) not in few.largest
    ]
    assert len(unnamed) == 137
    for one, other in (asked, held):
        assert np.corrcoef(one[unnamed], other[unnamed])[0, 1] > 0.99


@pytest.mark.slow
def test_every_file_of_a_twin_is_asked_for() -> None:
    assert twin(PUBLISHED["hp-july"]).frequency().min() >= 1


@pytest.mark.slow
def test_sizes_spread_over_all_files_as_wanted() -> None:
    made = twin(PUBLISHED["hp-july"], spread=1.6, of_all_sizes=True)
    assert np.log(made.size).std() == pytest.approx(1.6, rel=0.02)


@pytest.mark.slow
def test_as_many_files_answer_the_requests_as_their_bytes_say() -> None:
    """Sizes need not hang on how often files are asked for, one-timers apart."""
    published = PUBLISHED["hp-june"]
    assert published.one_timers is not None
    frequency = np.sort(twin(published).frequency())[::-1]
    answered = np.cumsum(frequency) / frequency.sum()
    files, several = np.searchsorted(answered, 0.97), np.count_nonzero(frequency > 1)
    assert files / several == pytest.approx(
        published.covering[0] / (published.working_set - published.one_timers), rel=0.1
    )

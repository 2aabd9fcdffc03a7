"""A made-up cluster behaves like a real one, and the same way each time."""

from __future__ import annotations

from dataclasses import astuple
from datetime import UTC, date, datetime

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from flex.sim import made_up_cluster
from flex.sim.made_up_names import METHODS, TRADES, TREES


def _same(
    one: made_up_cluster.Hosting | made_up_cluster.Accesses,
    other: made_up_cluster.Hosting | made_up_cluster.Accesses,
) -> bool:
    return all(np.array_equal(a, b) for a, b in zip(astuple(one), astuple(other), strict=True))


def _made(seed: int) -> tuple[made_up_cluster.Hosting, made_up_cluster.Accesses]:
    rng = np.random.default_rng(seed)
    hosting = made_up_cluster.drift(made_up_cluster.hosting(rng, "hosting.example"), rng)
    return hosting, made_up_cluster.night(hosting, date(2026, 1, 5), 1000, rng)


def test_the_same_seed_makes_the_same_cluster_and_the_same_night() -> None:
    (hosting, night), (same_hosting, same_night), (other_hosting, other_night) = (
        _made(7),
        _made(7),
        _made(8),
    )
    assert _same(hosting, same_hosting)
    assert _same(night, same_night)
    assert not _same(hosting, other_hosting)
    assert not _same(night, other_night)


def test_sites_are_named_below_the_zone_and_none_twice(hosting: made_up_cluster.Hosting) -> None:
    assert all(name.endswith(".hosting.example") for name in hosting.sites)
    assert len(set(hosting.sites)) == 100


def test_names_do_not_run_out() -> None:
    many = 2 * len(TREES) * len(TRADES) + 1
    shape = made_up_cluster.Shape(sites=many, files_per_site=3)
    assert (
        len(set(made_up_cluster.hosting(np.random.default_rng(1), "example.org", shape).sites))
        == many
    )


def test_a_tenth_of_the_sites_draws_more_than_half_of_the_requests(
    accesses: made_up_cluster.Accesses,
) -> None:
    per_site = np.sort(np.bincount(accesses.site, minlength=100))[::-1]
    assert per_site[:10].sum() > 0.5 * len(accesses.site)


def test_a_tenth_of_the_files_holds_more_than_half_of_the_bytes(
    hosting: made_up_cluster.Hosting,
) -> None:
    largest_first = np.sort(hosting.size)[::-1]
    assert largest_first[: len(largest_first) // 10].sum() > 0.5 * hosting.size.sum()
    assert hosting.size.mean() > 3 * np.median(hosting.size)


def test_large_files_are_seldom_the_popular_ones(
    hosting: made_up_cluster.Hosting, accesses: made_up_cluster.Accesses
) -> None:
    assert hosting.size[accesses.target].mean() < 0.6 * hosting.size.mean()


def test_a_night_follows_the_rhythm_of_the_day(accesses: made_up_cluster.Accesses) -> None:
    per_hour = np.bincount(accesses.time // 3600 - accesses.time[0] // 3600, minlength=24)
    assert per_hour.max() > 2 * per_hour.min()


def test_drift_leaves_most_sites_about_where_they_were_and_puts_one_in_fashion(
    hosting: made_up_cluster.Hosting,
) -> None:
    change = made_up_cluster.drift(hosting, np.random.default_rng(3)).weight / hosting.weight
    assert np.count_nonzero(np.abs(change - 1) < 0.2) >= 95
    assert np.count_nonzero(change > 1.7) == 1


def test_drift_changes_nothing_but_how_often_sites_are_asked_for(
    hosting: made_up_cluster.Hosting,
) -> None:
    tomorrow = made_up_cluster.drift(hosting, np.random.default_rng(3))
    assert abs(tomorrow.weight.sum() - 1) < 1e-12
    assert tomorrow.sites == hosting.sites
    assert tomorrow.paths == hosting.paths
    assert np.array_equal(tomorrow.size, hosting.size)


@pytest.mark.slow
@given(
    st.integers(0, 300),
    st.integers(1, 5),
    st.dates(date(2000, 1, 1), date(2037, 12, 31)),
    st.integers(0, 99),
)
def test_a_night_of_any_size_is_a_day_of_true_accesses(
    requests: int, sites: int, day: date, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    hosting = made_up_cluster.hosting(
        rng, "example.org", made_up_cluster.Shape(sites=sites, files_per_site=5)
    )
    asked = made_up_cluster.night(made_up_cluster.drift(hosting, rng), day, requests, rng)
    start = datetime(day.year, day.month, day.day, tzinfo=UTC).timestamp()
    assert {len(column) for column in astuple(asked)} == {requests}
    assert (np.diff(asked.time) >= 0).all()
    assert ((asked.time >= start) & (asked.time < start + made_up_cluster.DAY)).all()
    assert np.array_equal(hosting.site[asked.target], asked.site)
    bodiless = (asked.status == 304) | (asked.method == METHODS.index("HEAD"))
    assert (asked.bytes[bodiless] == 0).all()
    assert (asked.bytes[~bodiless] > 0).all()
    whole = (asked.status == 200) & ~bodiless
    assert np.array_equal(asked.bytes[whole], hosting.size[asked.target[whole]])


def test_the_sample_holds_what_was_answered_from_a_file(
    hosting: made_up_cluster.Hosting, accesses: made_up_cluster.Accesses
) -> None:
    sample = made_up_cluster.sample(hosting, accesses)
    answered = np.isin(accesses.status, (200, 206, 304))
    assert len(sample.target) == np.count_nonzero(answered) < len(accesses.target)
    assert np.array_equal(sample.site[sample.target], accesses.site[answered])
    assert sample.rate == 1

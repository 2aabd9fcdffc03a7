"""Tomorrow's load is taken from a pattern only where that has proved better than yesterday's
figures.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from flex.model.accuracy import Outlook
from flex.prediction import site_traffic_forecast
from flex.prediction.site_traffic_forecast import METHODS, YESTERDAY, backtest

WEEKEND = np.array([1.0, 1.0, 1.0, 1.0, 1.0, 0.3, 0.3])


def table(nights: np.ndarray) -> pd.DataFrame:
    return pd.DataFrame(nights.T, index=[f"s{number}" for number in range(nights.shape[1])])


def test_a_pattern_of_the_week_is_found_and_used() -> None:
    nights = np.outer(np.tile(WEEKEND, 5), [1000.0, 10.0])
    found, expected = site_traffic_forecast.outlook(table(nights[:33]))
    assert (found.method, dict(found.errors)["weekday"]) == ("weekday", 0.0)
    assert found.nights == 33
    # The last night known is a Friday, the next one a Saturday.
    assert np.allclose(expected, [300.0, 3.0])
    assert "by weekday" in site_traffic_forecast.sentences(found, ())[0]


def test_noise_is_left_to_yesterday_or_to_the_mean() -> None:
    walk = np.exp(np.cumsum(np.random.default_rng(3).normal(0, 0.2, (30, 20)), axis=0))
    found, expected = site_traffic_forecast.outlook(table(walk))
    assert found.method == YESTERDAY
    assert expected.tolist() == walk[-1].tolist()
    assert site_traffic_forecast.sentences(found, ()) == ()


def test_of_few_nights_nothing_is_said() -> None:
    found, expected = site_traffic_forecast.outlook(table(np.outer(np.tile(WEEKEND, 2), [5.0])))
    assert (found.method, found.errors, expected.tolist()) == (YESTERDAY, (), [1.5])


def test_what_is_expected_is_what_the_backtest_judged() -> None:
    """A site ten times as busy one day a week, and one that rests on another: both come as they
    came.
    """
    nights = np.array(
        [[1000.0 if day % 7 == 0 else 100.0, 0.0 if day % 7 == 6 else 500.0] for day in range(29)]
    )
    found, expected = site_traffic_forecast.outlook(table(nights[:21]))
    assert (found.method, dict(found.errors)["weekday"], expected.tolist()) == (
        "weekday",
        0.0,
        [1000.0, 500.0],
    )
    shown = dict(site_traffic_forecast.outlook(table(nights))[0].errors)
    kept = [
        site_traffic_forecast.next_night_by_method(nights[:night])["weekday"]
        for night in range(22, 29)
    ]
    off = sum(np.abs(one - nights[night]).sum() for night, one in enumerate(kept, 22))
    assert shown["weekday"] == off / nights[22:].sum()


def test_one_bad_night_is_not_expected_again() -> None:
    nights = np.outer(np.tile(WEEKEND, 4), [1000.0])[:26]
    nights[-7] = 1e9
    _, most = site_traffic_forecast.bounds(nights)
    assert site_traffic_forecast.next_night_by_method(nights)["weekday"] == most == 2000.0


def test_sites_that_surged_are_named_the_largest_first_and_small_ones_not() -> None:
    nights = np.full((10, 4), 1000.0)
    nights[:, 3] = 0.1
    nights[-1] = [1000.0, 4000.0, 9000.0, 1.0]
    assert [
        (surge.site, surge.times) for surge in site_traffic_forecast.surges(table(nights), 3.0)
    ] == [("s2", 9.0), ("s1", 4.0)]


@pytest.mark.parametrize("lost", [{20}, {25}, {3, 4, 5}, {18, 25}])
def test_a_night_that_is_lost_changes_nothing_of_a_pattern(lost: set[int]) -> None:
    nights = np.outer(np.tile(WEEKEND, 5), [1000.0, 10.0])[:33]
    nights[list(lost)] = np.nan
    found, expected = site_traffic_forecast.outlook(table(nights))
    assert (found.method, found.nights) == ("weekday", 33 - len(lost))
    assert dict(found.errors)["weekday"] == 0.0
    assert np.allclose(expected, [300.0, 3.0])


def test_a_night_is_only_tested_where_the_one_before_it_is_known() -> None:
    nights = np.outer(np.tile(WEEKEND, 4), [1000.0])[:26]
    nights[[20, 24]] = np.nan
    assert site_traffic_forecast.predictable_nights(nights) == [15, 16, 17, 18, 19, 22, 23]
    every_other = np.outer(np.tile(WEEKEND, 5), [1000.0])[:31]
    every_other[1::2] = np.nan
    assert site_traffic_forecast.outlook(table(every_other))[0] == Outlook(YESTERDAY, (), 16)


@given(
    arrays.arrays(
        np.int64, st.tuples(st.integers(15, 30), st.integers(1, 4)), elements=st.integers(0, 10**12)
    ),
    st.sets(st.integers(1, 28), max_size=12),
)
def test_whatever_the_past_each_method_expects_something_that_can_be(
    sent: np.ndarray, lost: set[int]
) -> None:
    nights = sent.astype(np.float64)
    nights[[night for night in lost if night < len(nights) - 1]] = np.nan
    for method in METHODS.values():
        expected = method(nights)
        assert np.isfinite(expected).all()
        assert (expected >= 0).all()
    assert all(error >= 0 for error in backtest(nights).values())
    least, most = site_traffic_forecast.bounds(nights)
    _, foretold = site_traffic_forecast.outlook(table(nights))
    for within in (nights[-1], foretold.to_numpy()):
        assert (least <= within).all()
        assert (within <= most).all()

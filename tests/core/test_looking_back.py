"""How good a prediction was: what traffic is to blame for, and what the model is."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pandas as pd
import pytest

from flex.model.balance import Balance
from flex.model.log_reading import Segment
from flex.model.period import Period
from flex.model.plan import Plan, Proven
from flex.model.predicted_node_loads import Forecast, NodeForecast
from flex.prediction import compare_with_measured
from flex.prediction.compare_with_measured import FARTHEST

DAY = datetime(2026, 3, 1, tzinfo=UTC)


def _forecast(**requests: int) -> Forecast:
    return Forecast(
        "after", 1.0, tuple(NodeForecast(n, r, r // 10, 10 * r, r) for n, r in requests.items())
    )


def _plan(forecast: Forecast | None) -> Plan:
    period = Period(DAY, DAY + timedelta(days=1))
    forecasts = (forecast,) if forecast else ()
    quality, balance = Proven("exact", 0, True), Balance((), 0.0)
    return Plan("c1", DAY, period, "", "d", quality, (), 0, 2, None, balance, forecasts, ())


def test_a_node_is_off_by_the_traffic_and_by_who_answered() -> None:
    base, came = _plan(_forecast(n1=100, n2=100)), _forecast(n1=300, n2=100)
    one, two = compare_with_measured.compare_nodes(base, came, {"n1": 500, "n2": 500})
    assert (one.predicted, one.came, one.logged) == (1.0, 1.5, 1.0)
    assert (one.traffic, one.model) == (0.5, 0.5)
    assert (two.traffic, two.model) == (0.5, 0.5)
    assert one.predicted_misses == one.misses == pytest.approx(0.1)


@pytest.mark.parametrize("logged", [{}, {"n1": 500}, {"somewhere": 3}])
def test_where_a_node_has_no_log_nothing_is_said_of_who_answered(logged: dict[str, int]) -> None:
    found = compare_with_measured.compare_nodes(
        _plan(_forecast(n1=1, n2=1)), _forecast(n1=1, n2=1), logged
    )
    assert [(node.traffic, node.model) for node in found] == [(0.0, None), (0.0, None)]


def test_a_node_that_is_new_or_gone_is_not_compared() -> None:
    (only,) = compare_with_measured.compare_nodes(
        _plan(_forecast(n1=5, gone=5)), _forecast(n1=5, new=5), {}
    )
    assert only.node == "n1"
    assert compare_with_measured.compare_nodes(_plan(None), _forecast(n1=5), {}) == ()


def test_nothing_asked_is_nothing_off() -> None:
    (only,) = compare_with_measured.compare_nodes(
        _plan(_forecast(n1=0)), _forecast(n1=0), {"n1": 0}
    )
    assert (only.predicted, only.came, only.logged) == (0.0, 0.0, None)
    assert compare_with_measured.compare_sites(
        pd.Series(dtype="float64"), pd.Series(dtype="float64")
    ) == ((), None)


def test_sites_that_came_or_went_are_off_by_all_they_are() -> None:
    sites, off = compare_with_measured.compare_sites(
        pd.Series({"a": 10.0, "gone": 30.0}), pd.Series({"a": 10.0, "new": 90.0})
    )
    assert [(site.site, site.expected, site.measured) for site in sites] == [
        ("new", 0, 90),
        ("gone", 30, 0),
    ]
    assert off == pytest.approx(1.2)


def test_of_many_sites_the_farthest_off_are_kept() -> None:
    names = [f"s{number:04}" for number in range(3 * FARTHEST)]
    expected, measured = (
        pd.Series([f * n for n in range(len(names))], index=names, dtype="float64") for f in (1, 2)
    )
    sites, off = compare_with_measured.compare_sites(expected, measured)
    assert [site.site for site in sites] == names[::-1][:FARTHEST]
    assert off == pytest.approx(0.5)


def test_answers_are_counted_by_node_within_the_period() -> None:
    one = Segment("1", "s", "n1", "p", "f", 0, 1, 0, 0, 0, 0, (), hours=((9, 5), (10, 7), (11, 2)))
    other = replace(one, id="2", node="n2", hours=((10, 1),))
    assert compare_with_measured.answers_in_logs([one, other, replace(one, id="3")], 10, 11) == {
        "n1": 14,
        "n2": 1,
    }

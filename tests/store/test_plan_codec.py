"""Plans as text: what comes back is what was put in."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flex.errors import StoreError
from flex.model.accuracy import Measured
from flex.model.balance import Balance, NodeLoad
from flex.model.best_effort_shortfalls import Relaxation, Shortfall
from flex.model.limits_and_approvals import Breach
from flex.model.period import Period
from flex.model.plan import Plan, Proven
from flex.model.predicted_node_loads import Benefit, Forecast, NodeForecast
from flex.model.zone_plan import StaysBehind, ZonePlan
from flex.store.plans_as_json import plan_from_text, plan_to_text
from tests.thorough import times

NUMBERS = st.floats(allow_nan=False)
TIMES = st.datetimes(timezones=st.just(UTC))
PERIODS = st.builds(Period, TIMES, TIMES)


LOADS = st.builds(NodeLoad, st.text(), NUMBERS, NUMBERS, st.integers())
BALANCES = st.builds(Balance, st.lists(LOADS, max_size=3).map(tuple), NUMBERS, st.text(), st.text())
FORECASTS = st.builds(
    Forecast, st.text(), NUMBERS, st.lists(st.builds(NodeForecast), max_size=3).map(tuple)
)
BENEFITS = st.builds(Benefit, busiest=NUMBERS, site_share=NUMBERS)
BREACHES = st.builds(Breach, st.text(), NUMBERS, NUMBERS)
NAMES = st.lists(st.text(), max_size=3).map(tuple)
INSTEAD = st.lists(st.builds(Relaxation, st.text(), NUMBERS, st.booleans()), max_size=3).map(tuple)
SHORTFALLS = st.lists(
    st.builds(Shortfall, st.text(), st.text(), NUMBERS, NUMBERS, NAMES, INSTEAD), max_size=3
)
STAY_BEHIND = st.builds(
    StaysBehind,
    parts=st.lists(st.tuples(st.text(), NUMBERS), max_size=3).map(tuple),
    requests=st.none() | NUMBERS,
    bytes=st.none() | NUMBERS,
)
ZONE_PLANS = st.builds(ZonePlan, stay_behind=st.lists(STAY_BEHIND, max_size=3).map(tuple))
PLANS = st.builds(
    Plan,
    zone_plans=st.lists(ZONE_PLANS, max_size=3).map(tuple),
    quality=st.builds(Proven, shortfalls=SHORTFALLS.map(tuple)),
    created=TIMES,
    period=PERIODS,
    before=st.none() | BALANCES,
    after=BALANCES,
    forecasts=st.lists(FORECASTS, max_size=3).map(tuple),
    breaches=st.lists(BREACHES, max_size=3).map(tuple),
    settled=st.none() | TIMES,
    benefit=st.none() | BENEFITS,
)


def forgotten() -> None:
    """Another plan is written, so that the one before is made of its text alone."""
    now = datetime(2026, 3, 1, tzinfo=UTC)
    plan_to_text(
        Plan(
            "other",
            now,
            Period(now, now),
            "",
            "",
            Proven("", 0, True),
            (),
            0,
            0,
            None,
            Balance((), 0),
            (),
            (),
        )
    )


@pytest.mark.slow
@settings(max_examples=times(50))
@given(PLANS)
def test_a_plan_comes_back_from_its_text(plan: Plan) -> None:
    text = plan_to_text(plan)
    assert plan_from_text(text) == plan
    forgotten()
    back = plan_from_text(text)
    assert back == plan
    assert plan_to_text(back) == text


def test_times_come_back_aware() -> None:
    now = datetime(2026, 3, 1, 2, 30, tzinfo=UTC)
    balance = Balance((), 0.0)
    plan = Plan(
        "c",
        now,
        Period.days_before(now, 1),
        "",
        "",
        Proven("", 0, True),
        (),
        0,
        0,
        None,
        balance,
        (),
        (),
    )
    text = plan_to_text(plan)
    forgotten()
    back = plan_from_text(text)
    assert back.created.utcoffset() == timedelta(0)
    assert f"{back.created.isoformat()} {back.created:%Z}" == "2026-03-01T02:30:00+00:00 UTC"


@pytest.mark.parametrize("text", ["", "{}", "[{}]", '[{"id": 1}]', "[]"])
def test_text_of_another_version_is_refused(text: str) -> None:
    with pytest.raises(StoreError) as refused:
        plan_from_text(text)
    assert "version" in refused.value.advice


def test_a_text_keeps_the_names_that_earlier_versions_wrote() -> None:
    """What a field is called in code may change; what stands in databases may not."""
    now = datetime(2026, 3, 1, 2, 30, tzinfo=UTC)
    plan = Plan(
        "c",
        now,
        Period.days_before(now, 1),
        "",
        "",
        Proven("", 0, True),
        (),
        0,
        0,
        None,
        Balance((), 0.0),
        (),
        (),
        measured=Measured("before", (), 0.05),
    )
    text = plan_to_text(plan)
    forgotten()
    assert '"measured":{"cycle":"before",' in text
    assert '"plans":[' in text
    assert plan_from_text(text) == plan

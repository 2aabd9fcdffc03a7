"""What an operator alarms on is there, is called as the documentation calls it, and is what is
so.
"""

from __future__ import annotations

import multiprocessing
import re
from collections.abc import Callable
from dataclasses import replace
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from flex.model.drains_and_freezes import Freeze
from flex.model.limits_and_approvals import Breach, Stop
from flex_api.night import ask_every_haproxy
from flex_api.night.keep_watch_running import Watched
from flex_api.night.prometheus_metrics import watch_series
from flex_api.web.latency_histogram import Timing
from tests.made_up_moves import fill_with_moves
from tests.rest.conftest import NOW
from tests.unhurried import HOURS

if TYPE_CHECKING:
    from tests.rest.conftest import Door

ROOT = Path(__file__).parents[2]
RULES = resources.files("flex_api") / "starter" / "flex-alerts.yml"
DASHBOARD = ROOT / "deploy/watching/grafana-dashboard.json"
# Those that are there only while something is so; these settings have no logs and route nothing.
OF_LOGS = {
    "flex_data_age_seconds",
    "flex_data_coverage_ratio",
    "flex_data_last_line_timestamp_seconds",
}
OF_ROUTING = {
    series.name
    for series in (
        *ask_every_haproxy.series([]),
        *ask_every_haproxy.series_of_doors(None, []),
        *ask_every_haproxy.series_of_strays([]),
    )
}
OF_DEAD_NODES = {
    "flex_node_dead_sites",
    "flex_node_down_attempts",
    "flex_node_down_last_attempt_timestamp_seconds",
}
OF_WATCH = {series.name for series in watch_series(Watched(True, 1, None, ""))}
OF_MOVES = {
    "flex_move_oldest_open_age_seconds",
    "flex_move_retries",
    "flex_move_failed_stages",
    "flex_move_waited_seconds",
}
NOW_AND_THEN = {
    "flex_gate_stopped",
    "flex_job_oldest_age_seconds",
    "flex_route_owed_since_timestamp_seconds",
    "flex_pin_expiry_timestamp_seconds",
    *OF_DEAD_NODES,
    *OF_MOVES,
    *OF_WATCH,
    *OF_LOGS,
    *OF_ROUTING,
}


def told(door: Door) -> str:
    client = door.open("viewer")
    client.get("/api/v1/sites")
    answer = client.get("/metrics")
    assert answer.status_code == 200
    return answer.text


def value(text: str, series: str) -> float:
    (found,) = re.findall(rf"^{re.escape(series)} (\S+)$", text, re.MULTILINE)
    return float(found)


def series(text: str) -> set[str]:
    return {
        name.removesuffix("_bucket").removesuffix("_count")
        for name in re.findall(r"\bflex_[a-z_]+", text)
    }


@pytest.mark.slow
def test_what_the_documentation_and_the_alerts_name_is_measured(
    filled: Callable[[str], Door], url: str
) -> None:
    text = told(filled(url))
    known = set(re.findall(r"^# TYPE (\S+)", text, re.MULTILINE)) | NOW_AND_THEN
    documented = series((ROOT / "docs/reference/metrics.md").read_text(encoding="utf-8"))
    assert documented - known == set()
    assert known - documented == set()
    assert series(RULES.read_text(encoding="utf-8")) - known == set()
    assert series(DASHBOARD.read_text(encoding="utf-8")) - known == set()


@pytest.fixture
def url(tmp_path: Path) -> str:
    from flex.store import migrate

    made = f"sqlite:///{tmp_path}/flex.db"
    migrate.upgrade(made)
    return made


def test_each_alert_is_documented() -> None:
    alerts = set(re.findall(r"alert: (\w+)", RULES.read_text(encoding="utf-8")))
    assert alerts == set(
        re.findall(r"`(Flex\w+)`", (ROOT / "docs/reference/metrics.md").read_text(encoding="utf-8"))
    )


def test_what_stopped_the_latest_plan_and_whether_it_is_stale_is_told(door: Door) -> None:
    latest = door.store.plans(1)[0]
    stop = Stop("safety.hold_runs", "2", "1", "it has to last")
    drift = Breach("safety.max_drifted_names", 0, 3)
    door.store.update(replace(latest, stops=(stop,), breaches=(drift,)))
    text = told(door)
    assert value(text, 'flex_gate_stopped{rule="safety.hold_runs"}') == 1
    assert (value(text, "flex_dns_drift_names"), value(text, "flex_plan_stale")) == (3, 0)
    door.store.update(replace(latest, base="another", message="seen"))
    assert value(told(door), "flex_plan_stale") == 1


def test_moves_are_counted_by_state_with_what_failed_and_how_long_visitors_waited(
    door: Door,
) -> None:
    sites = sorted(set(door.store.placement()[1]["site"]))
    fill_with_moves(door.store, sites, door.store.in_force(), NOW)
    text = told(door)
    for state in ("under way", "ready", "moved", "done", "taking back", "stayed"):
        assert value(text, f'flex_moves{{state="{state}"}}') == 1
    assert value(text, "flex_move_resting_sites") == 1
    assert value(text, 'flex_move_retries{stage="copy"}') == 4
    assert value(text, 'flex_move_retries{stage="check"}') == 2
    assert value(text, 'flex_move_failed_stages{stage="check"}') == 1
    assert value(text, 'flex_move_waited_seconds{quantile="1"}') == pytest.approx(1.0)
    age = value(text, 'flex_move_oldest_open_age_seconds{state="taking back"}')
    assert 420 <= age < 420 + HOURS
    assert 'age_seconds{state="stayed"}' not in text


def test_answers_are_counted_by_their_route_and_how_long_they_took(door: Door) -> None:
    client = door.open("viewer")
    for site in ("s001.example.org", "s002.example.org", "none.example.org"):
        client.get(f"/api/v1/sites/{site}")
    text = client.get("/metrics").text
    counts = re.findall(
        r'_count\{route="/api/v1/sites/\{site\}",method="GET",status="(\dxx)".*\} (\d+)', text
    )
    assert dict(counts) == {"2xx": "2", "4xx": "1"}


def test_a_histogram_rises_to_the_number_of_all_answers() -> None:
    timing = Timing()
    for seconds in (0.001, 0.005, 0.02, 99.0):
        timing.took("/r", "GET", 200, seconds)
    buckets = [int(count) for count in re.findall(r"_bucket\{.*\} (\d+)", timing.text())]
    assert (buckets[:3], buckets[-2:]) == ([2, 2, 3], [3, 4])


def test_a_badge_says_how_the_cluster_is(door: Door) -> None:
    badge = door.open("viewer").get("/badge.svg")
    assert (badge.status_code, badge.headers["content-type"]) == (200, "image/svg+xml")
    assert "shared-eu1: waits for approval" in badge.text
    now = door.store.plans(1)[0].created
    door.store.put_freeze(Freeze(now))
    assert "shared-eu1: frozen" in door.open("viewer").get("/badge.svg").text
    assert "frozen" not in door.open().get("/badge.svg").text


def test_whichever_process_is_asked_tells_the_answers_of_all(tmp_path: Path) -> None:
    one, other = Timing(shared=tmp_path), Timing(shared=tmp_path)
    other.took("/other", "GET", 200, 0.2)
    child = multiprocessing.get_context("fork").Process(target=other.leave)
    child.start()
    child.join()
    one.took("/one", "GET", 200, 0.1)
    one.leave()
    text = one.text()
    assert text.count("# TYPE") == 1
    assert re.findall(r'_count\{route="(\S+?)".*\} (\d+)', text) == [("/one", "1"), ("/other", "1")]
    # What it left itself is older than what it knows.
    one.took("/one", "GET", 200, 0.1)
    assert re.findall(r'_count\{route="/one".*\} (\d+)', one.text()) == ["2"]

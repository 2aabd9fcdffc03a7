"""What the next day is expected to ask for is what a plan is made from, also of nights in which
FLEX did not run.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pandas as pd
import pytest

from flex.frame_schemas import PLACEMENT, PROFILES, SPREADS
from flex.model.period import Period
from flex.store import MemoryStore
from flex_api import wiring
from flex_api.facts import past_traffic
from flex_api.facts.forecast_loads import expect
from flex_api.night import gather_facts, nightly
from flex_api.settings import file as config
from flex_api.wiring import World
from tests.memory_publisher import MemoryPublisher

FIRST = datetime(2026, 3, 2, tzinfo=UTC)
DAY = timedelta(days=1)
# Ten times as busy one day a week; at rest on another; always the same.
WEEKLY = {"big.example": 1_000, "closed.example": 0, "even.example": 200}


def asked(day: int) -> dict[str, int]:
    return {
        "big.example": 1_000 if day % 7 == 0 else 100,
        "closed.example": 0 if day % 7 == 6 else 500,
        "even.example": 200,
    }


def line(site: str, day: int, size: int) -> str:
    moment = FIRST + day * DAY + timedelta(hours=3)
    return (
        f'{site} 198.51.100.7 - - [{moment:%d/%b/%Y:%H:%M:%S} +0000] "GET /a '
        f'HTTP/1.1" 200 {size} "-" "-"\n'
    )


@pytest.fixture
def world(tmp_path: Path) -> World:
    path, log = tmp_path / "flex.toml", tmp_path / "access.log"
    path.write_text(
        '[[node]]\nname = "n1"\naddresses = ["192.0.2.1"]\nram = "1 GiB"\n'
        f'[ingest]\ndirectory = "{tmp_path}/counts"\n'
        f'[[ingest.source]]\nnode = "n1"\nglob = "{log}"\nformat = "vhost_combined"\n',
        encoding="utf-8",
    )
    settings = config.load(path)
    target = MemoryPublisher([], settings.owner)
    now = FIRST + 21 * DAY + timedelta(hours=2)
    return World(
        settings=settings,
        store=MemoryStore(),
        connect=lambda: target,
        clock=lambda: now,
        time_of_day=lambda: now,
        say=wiring.silent,
        progress=wiring.silent,
    )


def keep(world: World, day: int) -> None:
    """A profile of that day, as a night leaves it: a site that nobody visited has none."""
    sent = {site: size for site, size in asked(day).items() if size}
    rows = {
        name: list(sent) if name == "site" else list(sent.values()) for name in PROFILES.columns
    }
    period = Period(FIRST + day * DAY, FIRST + (day + 1) * DAY)
    world.store.put_profiles(period, PROFILES.from_columns(rows), SPREADS.empty())


def planned(world: World) -> dict[str, tuple[int, int]]:
    """By site the bytes and the working set that a plan is made from."""
    plain = gather_facts.facts(world, replayed=False)
    placement = PLACEMENT.from_columns({"site": sorted(WEEKLY), "node": ["n1"] * 3})
    found = expect(world, replace(plain, placement=placement))[0].profiles
    columns = (found[name].tolist() for name in ("site", "access_bytes", "working_set"))
    return {site: (sent, held) for site, sent, held in zip(*columns, strict=True)}


def test_a_site_that_rested_comes_back_as_it_was_before(world: World) -> None:
    for day in range(21):
        keep(world, day)
    assert planned(world) == {
        "big.example": (1_000, 1_000),
        "closed.example": (500, 500),
        "even.example": (200, 200),
    }


@pytest.mark.parametrize("lost", [{3}, {14}, {19}, {9, 10, 11, 17}])
def test_nights_of_which_nothing_is_known_leave_those_before_them_and_the_days_of_the_week(
    world: World, lost: set[int]
) -> None:
    for day in set(range(21)) - lost:
        keep(world, day)
    past = past_traffic.bytes_sent(world, Period(FIRST + 20 * DAY, FIRST + 21 * DAY), set(WEEKLY))
    assert [day for day, whole in enumerate(past.notna().all()) if not whole] == sorted(lost)
    assert planned(world)["big.example"] == (1_000, 1_000)
    assert planned(world)["closed.example"] == (500, 500)


def test_what_was_before_a_long_silence_was_another_time(world: World) -> None:
    for day in (*range(8), *range(8 + past_traffic.LOST, 21)):
        keep(world, day)
    past = past_traffic.bytes_sent(world, Period(FIRST + 20 * DAY, FIRST + 21 * DAY), set(WEEKLY))
    assert past.shape[1] == 21 - 8 - past_traffic.LOST


def test_nights_without_a_run_count_by_the_logs_that_were_read(
    world: World, tmp_path: Path
) -> None:
    """A new installation reads the logs of three weeks and knows the week's pattern the first
    night.
    """
    lines = [
        line(site, day, size) for day in range(-1, 21) for site, size in asked(day).items() if size
    ]
    (tmp_path / "access.log").write_text("".join(lines), encoding="utf-8")
    nightly.ingest(world)
    period = nightly.learn(world)
    past = past_traffic.bytes_sent(world, period, set(WEEKLY))
    assert past.shape[1] == 21, "the first day that was read may not be whole"
    wanted = pd.DataFrame([asked(day) for day in range(21)], index=past.columns, dtype="float64").T
    assert past.equals(wanted[past.columns])
    assert planned(world) == {
        "big.example": (1_000, 1_000),
        "closed.example": (500, 500),
        "even.example": (200, 200),
    }


def test_a_night_in_between_that_has_no_profile_is_taken_from_the_logs(
    world: World, tmp_path: Path
) -> None:
    lines = [line(site, day, size) for day in (18, 19) for site, size in asked(day).items() if size]
    (tmp_path / "access.log").write_text("".join(lines), encoding="utf-8")
    nightly.ingest(world)
    for day in (*range(19), 20):
        keep(world, day)
    past = past_traffic.bytes_sent(world, Period(FIRST + 20 * DAY, FIRST + 21 * DAY), set(WEEKLY))
    assert past.shape[1] == 21
    assert past.loc[["even.example"]].to_numpy().tolist() == [[200.0] * 21]

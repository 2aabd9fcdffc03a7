"""The demo is the whole loop on a cluster of its own; two at once do not disturb each other."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from flex_api import demo

pytestmark = pytest.mark.real


def start(folder: Path, home: Path) -> subprocess.Popen[str]:
    command = [
        sys.executable,
        "-c",
        "from flex_api.cli import main; main()",
        "-o",
        "json",
        "demo",
        "--dir",
        str(folder),
    ]
    environment = {**os.environ, "HOME": str(home), "TMPDIR": str(home)}
    return subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=home,
        env=environment,
    )


@pytest.mark.torture
@pytest.mark.slow
def test_two_demos_at_once_both_work_and_touch_nothing_else(open_folder: Path) -> None:
    home = open_folder / "home"
    home.mkdir()
    folders = [open_folder / "one", open_folder / "two"]
    # One of them is named from where it is started.
    processes = [start(folder, home) for folder in (folders[0], Path("../two"))]
    for folder, process in zip(folders, processes, strict=True):
        out, err = process.communicate(timeout=300)
        assert process.returncode == 0, err
        look_over(json.loads(out), folder)
    assert list(home.iterdir()) == []


@pytest.mark.torture("00:00")
@pytest.mark.slow
@pytest.mark.parametrize("clock", ["00:00", "23:59"])
def test_whatever_the_hour_who_plans_behind_a_demo_finds_logs_of_the_day_before(
    open_folder: Path, clock: str
) -> None:
    now = datetime.fromisoformat(f"2026-03-01T{clock}+00:00")
    made = demo.run(open_folder / "demo", 14, lambda _: None, now)
    _, second = made.nights
    assert second.plan.period_end == datetime(2026, 3, 1, tzinfo=UTC)
    assert second.plan.created - now < timedelta(minutes=5)
    # Before the hour of nights the first one is as of the night before, and made a moment ago.
    assert second.plan.id in made.report


def look_over(said: Any, folder: Path) -> None:
    """Any: what JSON holds."""
    first, second = said["nights"]
    # Whoever serves it next finds logs of yesterday, and no alarm.
    made = datetime.fromisoformat(second["plan"]["created"])
    assert timedelta(0) <= datetime.now(UTC) - made <= timedelta(days=1, minutes=5)
    assert first["plan"]["sites"] == 100
    moved = {move["site"] for move in second["plan"]["moves"]}
    # A handful where a partition from scratch moves most.
    assert 0 < len(moved) <= 10
    assert second["plan"]["moves_from_scratch"] > 50
    assert second["plan"]["after"]["worst_ratio"] < second["plan"]["before"]["worst_ratio"]
    miss = {forecast["policy"]: forecast["miss_ratio"] for forecast in second["plan"]["forecasts"]}
    assert miss["after"] < miss["round robin"] / 2
    for night in said["nights"]:
        assert night["plan"]["state"] == "applied"
        assert all(verdict["agrees"] for verdict in night["plan"]["verdicts"])
        assert night["lines"]["malformed"] > 0
    assert Path(said["report"]).parent.parent == folder
    page = Path(said["report"]).read_text(encoding="utf-8")
    assert "<script" not in page
    assert str(second["plan"]["moves_from_scratch"]) in page


@pytest.mark.slow
def test_a_demo_never_writes_into_a_folder_in_use(tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("mine", encoding="utf-8")
    process = start(tmp_path, tmp_path)
    _, err = process.communicate(timeout=300)
    assert process.returncode == 3
    assert "there is something in it" in err
    assert [path.name for path in tmp_path.iterdir()] == ["mine"]

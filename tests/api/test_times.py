"""Time as a load, from log lines to a plan: counted, balanced, shown, and said where it is not."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from flex_api import cli

SETTINGS = """
schema = 1
[[node]]
name = "n1"
addresses = ["192.0.2.11"]
ram = "1 GiB"
[[node]]
name = "n2"
addresses = ["192.0.2.12"]
ram = "1 GiB"
[[ingest.source]]
glob = "*.log"
node = "n1"
format = '$host [$time_local] "$request" $status $bytes_sent "$http_user_agent"{timer}'
[solver]
dimensions = ["access rate", "working set", "service time"]
"""
# Any: what came as JSON.
Run = Callable[..., Any]


def write(folder: Path, timer: str) -> None:
    """A day of eight sites that send equally much; the first two keep PHP busy."""
    (folder / "flex.toml").write_text(SETTINGS.replace("{timer}", timer))
    lines = []
    for minute in range(24 * 60):
        number = minute % 8
        time = f"10/Sep/2026:{minute // 60:02}:{minute % 60:02}:00 +0000"
        asked = f's{number}.example.org [{time}] "GET / HTTP/1.1" 200 5000 "x"'
        spent = "0.900" if number < 2 else "0.010"
        lines.append(f"{asked} {spent}\n" if timer else f"{asked}\n")
    (folder / "access.log").write_text("".join(lines))


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """What a verb prints as JSON."""
    monkeypatch.chdir(tmp_path)

    def ran(*words: str) -> Any:
        capsys.readouterr()
        code = cli.run(["--config", "flex.toml", "-o", "json", *words])
        printed = capsys.readouterr()
        assert code == 0, printed.err
        return json.loads(printed.out)

    return ran


@pytest.mark.slow
def test_a_plan_puts_sites_that_take_long_on_different_nodes(tmp_path: Path, run: Run) -> None:
    write(tmp_path, " $request_time")
    run("db", "upgrade")
    (log,) = run("ingest")["files"]
    assert log["says_times"] is True
    plan = run("plan", "--as-of", "2026-09-11")
    units = [row["others_units"]["service time"] for row in plan["after"]["nodes"]]
    assert all(95 <= each <= 105 for each in units)
    assert not [note for note in plan["notes"] if "service time" in note]
    sites = {row["site"]: row for row in run("sites", "list")["items"]}
    assert sites["s0.example.org"]["service_seconds"] == pytest.approx(180 * 0.9)
    assert sites["s0.example.org"]["cpu_seconds"] is None


@pytest.mark.slow
def test_a_plan_by_times_that_no_line_says_goes_by_the_rest_and_says_what_to_do(
    tmp_path: Path, run: Run
) -> None:
    write(tmp_path, "")
    run("db", "upgrade")
    (log,) = run("ingest")["files"]
    assert log["says_times"] is False
    plan = run("plan", "--as-of", "2026-09-11")
    assert all(not row["others_units"] for row in plan["after"]["nodes"])
    (note,) = [note for note in plan["notes"] if "service time" in note]
    assert "none was counted" in note
    assert "$upstream_response_time" in note
    assert run("sites", "list")["items"][0]["service_seconds"] is None


def test_a_node_without_cgroups_says_so_and_its_counts_leave_as_ever(
    tmp_path: Path, run: Run
) -> None:
    write(tmp_path, " $request_time")
    with (tmp_path / "flex.toml").open("a") as file:
        file.write('[[ingest.cpu]]\npattern = "none-of-this-name/{site}.service"\n')
    read = run("ingest", "--partials-only", "out")
    assert read["parcels"]["parcels"] == 1
    (why,) = read["no_cpu"]
    assert why.startswith("none-of-this-name/{site}.service: ")


@pytest.mark.parametrize(
    "section",
    [
        'pattern = "system.slice/php-fpm.service"',
        'pattern = "user-{pool}.slice"',
        'pattern = "{site}.slice"\npools = "pools.txt"',
    ],
)
def test_a_pattern_that_names_nobody_is_refused(
    tmp_path: Path, section: str, capsys: pytest.CaptureFixture[str]
) -> None:
    write(tmp_path, "")
    path = tmp_path / "flex.toml"
    path.write_text(f"{path.read_text()}[[ingest.cpu]]\n{section}\n")
    assert cli.run(["--config", str(path), "config", "check"]) != 0
    assert "ingest.cpu" in capsys.readouterr().out


@pytest.mark.parametrize("line", ["1001", "1001 ü..example"])
def test_a_line_of_pools_that_names_no_site_is_an_error_with_its_number(
    tmp_path: Path, line: str, capsys: pytest.CaptureFixture[str]
) -> None:
    write(tmp_path, "")
    path = tmp_path / "flex.toml"
    cpu = '[[ingest.cpu]]\npattern = "user-{pool}.slice"\npools = "pools.txt"\n'
    path.write_text(path.read_text() + cpu)
    (tmp_path / "pools.txt").write_text(f"# ours\n{line}\n")
    out = str(tmp_path / "out")
    assert cli.run(["--config", str(path), "ingest", "--partials-only", out]) != 0
    assert "line 2" in capsys.readouterr().err

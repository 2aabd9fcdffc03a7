"""What docs/howto/onboard.md says under "By hand" works, with logs that are made up here.

Whether its other commands exist is asked in tests/docs.
"""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from flex_api import cli

PAGE = Path(__file__).parents[2] / "docs/howto/onboard.md"
OWN_LOGS = PAGE.read_text(encoding="utf-8").partition("## By hand")[2]
GLOB = re.compile(r'glob = "[^"]*"')
COMMAND = re.compile(r"^ {4}flex (.*?)\s+#", re.MULTILINE)


def access_log(node: int) -> str:
    """A day of two sites on one node."""
    lines = []
    for minute in range(24 * 60):
        site, page = f"{'ab'[minute % 2]}.example.org:80", minute % 7
        time = f"10/Sep/2026:{minute // 60:02}:{minute % 60:02}:0{node} +0000"
        request = f'192.0.2.7 - - [{time}] "GET /{page} HTTP/1.1" 200 5000'
        lines.append(f'{site} {request} "-" "-"\n')
    return "".join(lines)


def test_own_logs_make_a_plan_without_dns(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    block = OWN_LOGS.partition("    schema")[2].partition("\nThen")[0]
    settings = re.sub(r"^ {4}", "", f"    schema{block}", flags=re.MULTILINE)
    for node in (1, 2):
        log = tmp_path / f"n{node}.log"
        log.write_text(access_log(node), encoding="utf-8")
        settings = GLOB.sub(f"glob = '{log}'", settings, count=1)
    (tmp_path / "flex.toml").write_text(settings, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    for command in COMMAND.findall(OWN_LOGS):
        day = ["--as-of", "2026-09-11"] if command.endswith("plan") else []
        assert cli.run([*shlex.split(command), *day]) == 0, command
    assert "2 sites placed for the first time" in capsys.readouterr().out

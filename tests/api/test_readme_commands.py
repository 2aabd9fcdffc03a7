"""Commands in the README are those that `flex` has, and its way to try own logs works.

Takes the README as it is. Runs what is under "On your own logs", with logs made up here; of all
other commands it looks only whether the verb and its options exist.
"""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import pytest
import typer.main

from flex_api import cli

README = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")
OWN_LOGS = README.partition("**On your own logs, ")[2].partition("\n## ")[0]
GLOB = re.compile(r'glob = "[^"]*"')


def commands(text: str) -> list[str]:
    """Each command of a code block or in backticks, without comments and what comes after `&&`."""
    before = r"(?:runuser -u flex -- |\*/15 \* \* \* \* |\S+/)?"
    blocks = re.findall(rf"^ {{4}}{before}flex (.*)$", text, re.MULTILINE)
    quoted = re.findall(r"`flex ([a-z][^`]*)`", text)
    both = [re.split(r"\s+#|&&", command)[0].strip() for command in blocks + quoted]
    return list(dict.fromkeys(both))


def unknown_word(command: str) -> str:
    """The first verb or option that `flex` does not have; empty if it has all."""
    found: Any = typer.main.get_command(cli.application())
    words = iter(shlex.split(command))
    for word in words:
        if word.startswith("-"):
            option = next((one for one in found.params if word in one.opts), None)
            if option is None:
                return word
            if not option.is_flag:
                next(words)
        elif hasattr(found, "commands"):
            if word not in found.commands:
                return word
            found = found.commands[word]
    return ""


@pytest.mark.parametrize("command", commands(README))
def test_each_command_is_one_that_flex_has(command: str) -> None:
    assert unknown_word(command) == ""


def test_an_option_or_a_verb_that_is_not_there_is_found() -> None:
    assert unknown_word("plan --no-such") == "--no-such"
    assert unknown_word("sites forget SITE") == "forget"


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
    for command in commands(OWN_LOGS.partition("Then, in that folder")[2]):
        day = ["--as-of", "2026-09-11"] if command.endswith("plan") else []
        assert cli.run([*shlex.split(command), *day]) == 0, command
    assert "2 sites placed for the first time" in capsys.readouterr().out

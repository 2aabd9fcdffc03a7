"""Options that every verb takes, before it and behind it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from flex_api import cli
from flex_api.cli import global_options, verb_groups


def test_every_verb_takes_the_form_of_its_output() -> None:
    verbs = list(global_options.below(global_options.command(cli.application())))
    assert len(verbs) > 10
    assert [
        verb.name
        for verb in verbs
        if sum("-o" in option.opts for option in verb.params) != 1
    ] == []


@pytest.mark.slow
def test_each_verb_is_brought_by_the_modules_that_are_named_for_it() -> None:
    for verb in cli.VERBS:
        found = global_options.command(cli.application([verb]))
        assert verb in getattr(found, "commands", {}), verb
    assert set(
        getattr(global_options.command(cli.application()), "commands", {})
    ) == set(cli.VERBS)


def test_every_verb_stands_in_one_group() -> None:
    grouped = [verb for verbs in verb_groups.GROUPS.values() for verb in verbs]
    assert sorted(grouped) == sorted(cli.VERBS)


def test_help_lists_every_verb_and_a_verb_that_there_is_not_is_told(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert cli.run(["--help"]) == 0
    listed = capsys.readouterr().out
    assert [verb for verb in cli.VERBS if f"\n  {verb} " not in listed] == []
    assert cli.run(["nodse"]) == 2
    assert "nodes" in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.parametrize(
    ("said", "spared"),
    [
        (
            "nodes down n1",
            "fastapi starlette jinja2 pulp highspy _duckdb flex_solver.auto flex_api.night.nightly",
        ),
        (
            "version",
            "fastapi starlette jinja2 pulp highspy _duckdb pandas.core rich.progress",
        ),
    ],
)
def test_a_verb_begins_without_what_only_others_need(
    said: str, spared: str, tmp_path: Path
) -> None:
    program = "import sys; from flex_api import cli; cli.run(sys.argv[1:]); print(*sys.modules)"
    settings = tmp_path / "flex.toml"
    settings.write_text("schema = 1\n", encoding="utf-8")
    command = [sys.executable, "-c", program, "--config", str(settings), *said.split()]
    loaded = subprocess.run(
        command, capture_output=True, text=True, check=True, timeout=300
    ).stdout.split()
    assert [name for name in spared.split() if name in loaded] == []


@pytest.mark.parametrize(
    "said",
    [("-o", "json", "version"), ("version", "-o", "json"), ("version", "--json")],
)
def test_the_form_is_the_same_wherever_it_is_said(
    said: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.run(said) == 0
    assert json.loads(capsys.readouterr().out)["schema_version"] == 1


def test_what_is_said_behind_the_verb_counts(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert cli.run(["-o", "json", "version", "-o", "table"]) == 0
    assert not capsys.readouterr().out.startswith("{")
